"""The administration's entry for sequences, for an application that has Django's administration.

Its pages are imported with their addresses, and not when Django starts.
"""

from django.apps import apps
from django.http import HttpRequest
from django.urls import URLPattern

if apps.is_installed("django.contrib.admin"):  # test runners import every package of a folder, whatever is installed
    from django.contrib import admin

    from ..models import Sequence

    @admin.register(Sequence)
    class SequenceAdmin(admin.ModelAdmin):  # type: ignore[type-arg]  # takes no argument when it runs
        """Pages for sequences, in place of those that Django makes for a model with rows."""

        def get_urls(self) -> list[URLPattern]:
            """The addresses of the pages. Every other one is a 404."""
            from .pages import urls

            return urls(self)

        def _never(self, request: HttpRequest, obj: Sequence | None = None) -> bool:
            """Always False: sequences are in the settings. Guarded changes have permissions of their own."""
            return False

        has_add_permission = has_change_permission = has_delete_permission = _never
