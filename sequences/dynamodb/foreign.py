"""boto3 and what it brings, imported when the first of it is needed: that takes longer than importing all the rest.

    from . import foreign

    foreign.boto3.session.Session()

Modules that are loaded with a client import them at their top (`connections`, `http1`, `lean`). Python looks up the
classes of an `except` clause when something is raised, so that naming them there imports nothing before.

A fork waits for these imports: in a child an import that another thread has begun never ends.
"""

import os
import threading
from typing import TYPE_CHECKING

__all__ = ["boto3", "botocore", "urllib3"]

importing = threading.RLock()  # a signal handler may import, or fork, while its thread imports
os.register_at_fork(before=importing.acquire, after_in_parent=importing.release, after_in_child=importing.release)

if TYPE_CHECKING:
    import boto3.dynamodb.types
    import botocore.config
    import botocore.credentials
    import botocore.exceptions
    import botocore.parsers
    import botocore.session
    import urllib3.exceptions
    import urllib3.util.ssl_match_hostname
else:

    def __getattr__(name: str) -> object:
        if name not in __all__:
            raise AttributeError(name)
        with importing:
            import boto3.dynamodb.types
            import botocore.config
            import botocore.credentials
            import botocore.exceptions
            import botocore.parsers
            import botocore.session
            import urllib3.exceptions
            import urllib3.util.ssl_match_hostname

        globals().update(boto3=boto3, botocore=botocore, urllib3=urllib3)
        return globals()[name]
