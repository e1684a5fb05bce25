"""The settings of development, without what stands around a view."""

from project.settings.development import *

MIDDLEWARE = []
ROOT_URLCONF = "project.proof.bare.urls"
REST_FRAMEWORK = {}
