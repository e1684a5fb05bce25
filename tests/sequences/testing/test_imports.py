"""What an installed app imports: in a project of its own, without the sample, its lab, and what tests need."""

import ast
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from project.paths import ROOT
from project.proof.copies import LEFT_OUT
from sequences.testing.embedded import Engine
from tests.kept_tables import emptied_tables

ALL_OF_IT = """
import importlib, pkgutil, sys
import django

django.setup()

from django.core.management import call_command

call_command("check", fail_level="INFO")

import sequences.admin, sequences.storage, sequences.strategies

print([name for name in sys.modules if name.startswith(("moto", "rich", "pytest", "sequences.testing"))])
for module in pkgutil.walk_packages(sequences.__path__, "sequences."):
    importlib.import_module(module.name)
    print(module.name)
"""
# What is imported at the start of a process, and then by what it uses, step by step.
STEPS = """
import sys
import django

heavy = "boto3 botocore moto opentelemetry prometheus_client pytest rest_framework rich urllib3".split()
faces = "sequences.admin.pages sequences.changes sequences.ops.audit sequences.ops.doctor sequences.strategies".split()

def show():
    print([[name for name in names if name in sys.modules] for names in (heavy, faces)])

django.setup()
print({name.split(".")[1] for name in sys.modules if name.startswith("sequences.")})

from sequences import aput_next, put_next

show()

import sequences.admin.pages, sequences.changes, sequences.fields, sequences.start, sequences.storage

sequences.registry.strategies["tickets"]
show()

from django.conf import settings
from django.core.management import call_command

settings.SEQUENCES = {}
sequences.registry.strategies.reset()
call_command("check")
show()
"""
# While a module is imported, a signal's handler interrupts the main thread, and puts an item, too.
PUT = """
import importlib.abc, signal, sys, threading
import django

django.setup()

from sequences import put_next
from sequences.exceptions import SequenceUnavailable

put = []


class Interrupting(importlib.abc.MetaPathFinder):
    def find_spec(self, name, *_):
        if name == sys.argv[1]:
            sys.meta_path.remove(self)
            signal.pthread_kill(threading.main_thread().ident, signal.SIGALRM)


def handle(*_):
    try:
        put.append(put_next("tickets", {"title": "in a handler"}, scope="ABC").value)
    except SequenceUnavailable as error:
        print(type(error).__name__)


signal.signal(signal.SIGALRM, handle)
sys.meta_path.insert(0, Interrupting())
put.append(put_next("tickets", {"title": "Printer on fire"}, scope="ABC").value)
print(sorted(put))
"""
SEQUENCES = {
    "tickets": {"STRATEGY": "sequences.strategies.sort_key.SortKeyMaximum", "TABLE": "tickets"},
    "orders": {"STRATEGY": "sequences.strategies.atomic.AtomicCounter", "START": 1001},
}


@pytest.fixture(scope="module")
def alone(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A Django project beside a copy of the app, and nothing else of ours."""
    folder = tmp_path_factory.mktemp("alone")
    shutil.copytree(ROOT / "tests" / "outside", folder, ignore=LEFT_OUT, dirs_exist_ok=True)
    shutil.copytree(ROOT / "sequences", folder / "sequences", ignore=LEFT_OUT)
    with (folder / "shop" / "settings.py").open("a", encoding="utf-8") as settings:
        settings.write(f"import os\nINSTALLED_APPS += ['sequences']\nSEQUENCES = {SEQUENCES}\n")
        settings.write("TABLE_PREFIX = os.environ.get('PREFIX', '')\n")
    return folder


def python(folder: Path, program: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run a program beside the project in this folder."""
    return subprocess.run(
        [sys.executable, "-c", program, *arguments],
        cwd=folder,
        env={**os.environ, "DJANGO_SETTINGS_MODULE": "shop.settings"},
        capture_output=True,
        text=True,
        check=False,
    )


def test_all_of_it(alone: Path) -> None:
    """The checks of the system have nothing to say, the public modules import nothing of tests, and all are imported.

    Nothing of the app needs the sample, the project or their lab.
    """
    done = python(alone, ALL_OF_IT)
    assert (done.returncode, done.stderr) == (0, "")
    checked, of_tests, *modules = done.stdout.splitlines()
    assert (checked, of_tests) == ("System check identified no issues (0 silenced).", "[]")
    assert {"sequences.admin", "sequences.management.commands.sequences"} <= {*modules}


def test_what_nobody_uses_is_not_imported(alone: Path) -> None:
    """Django sets the app up without its strategies, tables and checks: each command would wait for them.

    The app imports boto3 only to make a client, no optional package, pages and strategies when they are used.
    """
    done = python(alone, STEPS)
    rooms, *steps = (ast.literal_eval(line) for line in done.stdout.splitlines() if line[0] in "[{")
    assert (rooms, done.stderr) == ({"admin", "apps", "exceptions", "formats", "metrics", "models", "types"}, "")
    assert [(heavy, bool(faces)) for heavy, faces in steps] == [([], False), ([], True), ([], True)]


def test_the_package_alone_is_nothing(alone: Path) -> None:
    """`import sequences` imports no module of it. Each public function is there when somebody asks for it."""
    done = python(
        alone,
        "import sequences, sys; print(hasattr(sequences, 'nothing'));"
        "print([name for name in sys.modules if name.startswith('sequences.')]);"
        "print(all(callable(getattr(sequences, name)) for name in sequences.__all__))",
    )
    assert (done.stdout, done.stderr) == ("False\n[]\nTrue\n", "")


@pytest.mark.parametrize(
    ("module", "said"),
    [("boto3.session", "[1, 2]\n"), ("sequences.rows.item_writer", "SequenceUnavailable\n[1]\n")],
)
def test_the_first_put_of_a_process(
    alone: Path, engine: Engine, module: str, said: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The first put imports what it needs. A signal's handler that interrupts it puts an item too, or is refused."""
    with emptied_tables(SEQUENCES, engine.endpoint) as prefix:
        monkeypatch.setenv("PREFIX", prefix)
        done = python(alone, PUT, module)
    assert (done.stdout, done.stderr) == (said, "")


def test_boto3_is_missed_at_once(alone: Path) -> None:
    """Where boto3 is not installed, Django's start says so."""
    done = python(alone, "import sys; sys.modules['boto3'] = None; import django; django.setup()")
    assert done.stderr.endswith("ModuleNotFoundError: sequences needs boto3: pip install boto3\n")
