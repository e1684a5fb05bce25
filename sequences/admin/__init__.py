"""The administration's pages about sequences, for an application that has Django's administration."""

from django.apps import apps

if apps.is_installed("django.contrib.admin"):  # test runners import every package of a folder, whatever is installed
    from . import entry  # noqa: F401

__all__: list[str] = []
