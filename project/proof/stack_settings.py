"""The settings of a stack: those of development, with passwords that are checked in no time.

Each would keep a core busy for half a second, as it must where people sign in. `make fuzz` sends many wrong ones.
"""

from project.settings.development import *

PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]
