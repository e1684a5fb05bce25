"""The writes of projects: they are made and changed. What is true of all writes is said in `tickets.services`."""

import logging
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from django.utils import timezone

from tickets import selectors, store, validators
from tickets.addresses import reserved_words
from tickets.exceptions import InvalidInput, ProjectChanged, StaleVersion
from tickets.repeats import stored_already, token_of
from tickets.timeline.recording import MOST_RACES
from tickets.types import Opening, Project, Stored

logger = logging.getLogger(__name__)


def create_project(
    *,
    key: str,
    name: str,
    description: str = "",
    open: str = Opening.NO,  # noqa: A002 - the name of the field
    by: str,
    idempotency_token: str | None = None,
) -> Stored[Project]:
    """Make a project with an owner. Its tickets are numbered from 1. Raises ProjectExists.

    One write of two rows, and a third that remembers the token. A repeat with the same token makes nothing, and returns
    the project as it is now, for ever, by two reads. Raises IdempotencyMismatch if the token was used for another one.
    """
    about = validators.clean({"key": key, "name": name, "description": description, "open": open}, validators.PROJECT)
    _require_key_for_projects(about["key"])
    token, project = token_of(by, idempotency_token), Project(**about)
    if store.projects.insert_project(project, owner=by, created_at=timezone.now(), token=token):
        logger.info("project %s created by %s", project.key, by)
        return Stored(value=project, replayed=False)
    with stored_already():
        return Stored(value=store.projects.find_inserted(project, token=token), replayed=True)


def _require_key_for_projects(key: str) -> None:
    """Raise InvalidInput for a key that is a word of the site's own addresses."""
    if key in reserved_words():
        raise InvalidInput({"key": f"{key} is a word of the site's own addresses. Choose another key."})


def update_project(key: str, *, changes: Mapping[str, Any], by: str, version: int | None = None) -> Project:
    """Change the key, the name or the description of a project that is still at this version; None means any.

    Also changes what everybody may do in it (`open`). A new key must never have been a key of another project. Other
    processes show the former key for up to 30 s. Raises ProjectNotFound, ProjectExists, StaleVersion, or ProjectChanged
    if it has another key than the one that is to be replaced. One read and one write, again for each lost race.
    """
    about = validators.clean(changes, validators.PROJECT)
    return _change_project(key, about, by=by, version=version)


def archive_project(key: str, *, archived: bool = True, by: str, version: int | None = None) -> Project:
    """Put a project that is still at this version into the archive, where it can only be read, or take it out.

    None means any version; then a repeat changes nothing. Other processes write into it for up to 5 s more. Raises
    ProjectNotFound and StaleVersion. One read and one write.
    """
    return _change_project(key, {"archived": archived}, by=by, version=version)


def _change_project(key: str, about: Mapping[str, Any], *, by: str, version: int | None = None) -> Project:
    """Change a project. Without a version, the change is tried again on what others have made of it meanwhile."""
    for _ in range(MOST_RACES - 1):
        try:
            return _try_to_change(key, about, by=by, version=version)
        except StaleVersion:
            if version is not None:
                raise
    return _try_to_change(key, about, by=by, version=version)


def _try_to_change(key: str, about: Mapping[str, Any], *, by: str, version: int | None) -> Project:
    old = selectors.get_project(key)
    if version not in (None, old.version):
        raise StaleVersion(old)
    if replace(old, **about) == old:
        return old
    new = replace(old, **about, version=old.version + 1)
    if new.key != old.key != key:
        raise ProjectChanged(key, old.key)
    if new.key != old.key:
        _require_key_for_projects(new.key)
    store.projects.change_project(old, new, at=timezone.now(), by=by)
    if new.archived != old.archived:
        logger.info("project %s %s by %s", new.key, "archived" if new.archived else "taken out of the archive", by)
    if new.key != old.key:
        logger.info("project %s renamed to %s by %s", old.key, new.key, by)
    return new
