"""What tests let people do."""

from django.contrib.auth.models import Permission, User

__all__ = ["allow"]


def allow(user: User, *permissions: str) -> None:
    """Give a user permissions, each by its app and its name, as Django does: models of tests have the same names."""
    for label, codename in (permission.split(".") for permission in permissions):
        user.user_permissions.add(Permission.objects.get(content_type__app_label=label, codename=codename))
