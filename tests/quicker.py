"""A pytest plugin that leaves out what pytest does for each test and no test here needs.

There are twelve thousand tests, and most of them take less time than what pytest does before and after them.
"""

import pytest
from _pytest.runner import runtestprotocol

MARK_OF = {
    "_django_db_marker": "django_db",
    "_django_isolate_apps": "django_isolate_apps",
    "_django_set_urlconf": "urls",
    "_real_dynamodb": "real_dynamodb",
    "_template_string_if_invalid_marker": "ignore_template_errors",
}
"""Fixtures of every test that do nothing in a test without this mark."""

FIXTURE_OF = {"_live_server_helper": "live_server"}
"""Fixtures of every test that do nothing in a test without this other fixture."""


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item: pytest.Function) -> None:
    """Set up the fixtures that do something in this test."""
    marks, names = {mark.name for mark in item.iter_markers()}, item.fixturenames
    idle = {fixture for fixture, mark in MARK_OF.items() if mark not in marks}
    idle |= {fixture for fixture, other in FIXTURE_OF.items() if other not in names}
    item.fixturenames = [name for name in names if name not in idle]


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_protocol(item: pytest.Item, nextitem: pytest.Item | None) -> bool | None:
    """Send one message for a test that passes, and not five: one process reads the messages of all others."""
    if not hasattr(item.config, "workerinput"):
        return None
    for report in runtestprotocol(item, log=False, nextitem=nextitem):
        if report.when == "call" or not report.passed or item.config.option.durations:
            item.ihook.pytest_runtest_logreport(report=report)
    return True
