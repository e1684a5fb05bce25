"""What the image is made of: the lock agrees with the requirements, is complete, and is audited."""

import json
import re
from importlib.metadata import PackageNotFoundError, requires, version

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from project.commands import supply
from project.paths import ROOT

TEXT = supply.LOCK.read_text(encoding="utf-8")
LOCKED = {canonicalize_name(name): pinned for name, pinned in re.findall(r"^([\w.-]+)==(\S+) \\$", TEXT, re.MULTILINE)}
IN_IMAGE = {"python_version": supply.PYTHON, "python_full_version": f"{supply.PYTHON}.0", "sys_platform": "linux"}


def wanted() -> list[Requirement]:
    """What the application needs itself."""
    return [Requirement(line) for line in supply.application().splitlines() if not line.startswith("#")]


def needed_by(package: Requirement) -> set[str]:
    """What a package needs in the image, if this very version of it is installed here."""
    try:
        if version(package.name) != LOCKED[canonicalize_name(package.name)]:
            return set()
    except PackageNotFoundError:
        return set()
    needs = [Requirement(line) for line in requires(package.name) or ()]
    extras = [*package.extras, ""]
    return {
        canonicalize_name(need.name)
        for need in needs
        if not need.marker or any(need.marker.evaluate({**IN_IMAGE, "extra": extra}) for extra in extras)
    }


def test_the_lock_agrees_with_the_requirements() -> None:
    """Each package of the application is locked in the version that is required: `make supply ARGS=--lock`."""
    assert {canonicalize_name(one.name): str(one.specifier) for one in wanted()}.items() <= {
        name: f"=={pinned}" for name, pinned in LOCKED.items()
    }.items()


def test_the_lock_is_complete() -> None:
    """What a locked package needs is locked, too, and nothing is locked that nobody needs."""
    others = [Requirement(name) for name in LOCKED.keys() - {canonicalize_name(one.name) for one in wanted()}]
    needed = set[str]().union(*map(needed_by, [*wanted(), *others]))
    assert len(needed) > 20
    assert needed - LOCKED.keys() == set()
    assert {one.name for one in others} - needed == set()


def test_every_package_has_its_hashes_and_no_address() -> None:
    """pip takes no file that is not listed; which index has it is for the place where the image is built."""
    entries = re.split(r"^(?=\w)", TEXT.partition("\n\n")[0], flags=re.MULTILINE)[1:]
    assert len(entries) == len(LOCKED) > 30
    assert [entry for entry in entries if not re.search(r"--hash=sha256:[0-9a-f]{64}", entry)] == []
    assert not re.search(r"://|--index|--find-links", TEXT)


def test_it_is_locked_for_the_python_of_the_image() -> None:
    """The base of the image has the version for which packages are locked."""
    dockerfile = (ROOT / "deploy" / "Dockerfile").read_text(encoding="utf-8")
    assert re.findall(r"^FROM python:([\d.]+)-", dockerfile, re.MULTILINE) == [supply.PYTHON]


KNOWN = {"name": "django", "version": "5.2", "vulns": []}
ADVISED = {"name": "six", "version": "1.17", "vulns": [{"id": "PYSEC-1"}, {"id": "PYSEC-2"}]}
UNKNOWN = {"name": "rich", "skip_reason": "Dependency not found"}


@pytest.mark.parametrize(
    ("packages", "said", "code"),
    [
        ([KNOWN], ["No advisory is about any of the 1 packages."], 0),
        ([KNOWN, ADVISED, UNKNOWN], ["six 1.17: PYSEC-1", "six 1.17: PYSEC-2"], 1),
        (
            [KNOWN, UNKNOWN],
            ["error: the service of advisories could not be asked about 1 of 2 packages, such as rich."],
            3,
        ),
    ],
)
def test_the_audit_is_judged(packages: list[object], said: list[str], code: int) -> None:
    """An advisory ends it with 1. A package that the service does not know is never taken for a sound one."""
    assert supply.judged(json.dumps({"dependencies": packages}), "") == (said, code)


def test_a_service_that_is_away_is_one_line() -> None:
    """The last line of its traceback is the reason."""
    said, code = supply.judged("", "Traceback:\n  File\nConnectionError: no such host\n")
    assert (said, code) == (["error: the service of advisories cannot be asked: ConnectionError: no such host"], 3)
