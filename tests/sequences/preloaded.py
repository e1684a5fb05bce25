"""What the server has in memory from which fresh processes are forked: modules, and botocore's model of the service.

It is imported there alone (`support.fresh_processes`). It makes a client, as that imports the rest, and forgets it.
"""

from __future__ import annotations

import os
from importlib import import_module

import boto3
import botocore.session
import django
from botocore.loaders import create_loader

os.environ["DJANGO_SETTINGS_MODULE"] = "project.settings.development"
django.setup()
_loader = create_loader()
vars(botocore.session)["create_loader"] = lambda search_path: _loader  # which has read the model
boto3.session.Session().client("dynamodb", "us-east-1", aws_access_key_id="tests", aws_secret_access_key="tests")

for room in ("project.proof.faults.elsewhere", "tests.sequences.support"):
    import_module(room)  # now that the application is set up
