"""The settings of the site that `make fuzz` asks: those of development, with passwords that are checked in no time.

It sends many wrong passwords. Each would keep a core busy for half a second, as it must where people sign in.
"""

from project.settings.development import *

PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]
