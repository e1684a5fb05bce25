"""`make run` as people use it: served over HTTP, stopped and started, and its engine killed under load.

A start takes seconds, so tests share two of them: a run in a folder, and the same run after a kill and a new start. One
with all that the environment can ask for is in `test_watched`, which stops it by Ctrl-C.
"""

import http.client
import os
import re
import signal
import socket
import stat
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass
from http.client import HTTPConnection
from pathlib import Path
from typing import Any

import pytest

from project.environment import PRODUCTION
from project.proof.copies import copy_project
from tests.project.site import Browser, Program, Site, free_port, parent, processes, running_site
from tests.sequences.support import wait_until

pytestmark = pytest.mark.needs_engine

CLIENTS = 8
KILLS = 2


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a copy of the project, for all tests of this module."""
    return copy_project(tmp_path_factory.mktemp("site") / "project")


@pytest.fixture(scope="module")
def shared(folder: Path) -> Iterator[Site]:
    """The site with one process that answers, which a test may stop. It checks passwords in no time."""
    own = {"WEB_WORKERS": "1", "DJANGO_SETTINGS_MODULE": "project.proof.stack_settings"}
    with running_site(Site(folder, free_port(), own)) as site:
        yield site


@pytest.fixture
def site(shared: Site) -> Site:
    """The running site."""
    if not shared.is_running:
        shared.start()
    return shared


@pytest.fixture(scope="module")
def engine_file(folder: Path) -> str:
    """The data file of the run's engine. It is in the command line of the engine's process."""
    return str(folder / ".local" / "data" / "engine.db")


@dataclass(frozen=True)
class Restart:
    """What was so before the run was killed, and after a new start."""

    password: str
    browser: Browser
    before: list[dict[str, Any]]
    """All projects."""
    code: int
    engines: list[int]
    """The processes of the engine afterwards."""
    after: list[dict[str, Any]]


@pytest.fixture(scope="module")
def restart(shared: Site, engine_file: str) -> Restart:
    """The site, with three tickets of the project LATER and somebody signed in, is killed (-9) and started."""
    if not shared.is_running:
        shared.start()
    browser, program = Browser(shared), Program(shared)
    browser.sign_in()
    make_project(program, "LATER")
    assert [file_ticket(program, "LATER", f"Before, {n}") for n in (1, 2, 3)] == [1, 2, 3]
    password, before = shared.password, projects(program)
    (run,) = processes(f"{shared.folder}/.local/venv/bin/python\0-m\0project.commands.serve")
    os.kill(run, signal.SIGKILL)
    code = shared.wait()
    shared.start()
    return Restart(password, browser, before, code, processes(engine_file), projects(Program(shared)))


def projects(program: Program) -> list[dict[str, Any]]:
    """All projects, as REST lists them."""
    found: list[dict[str, Any]] = program.get("/api/projects/").content["results"]
    return found


def make_project(program: Program, key: str) -> None:
    """Make a project by REST."""
    answer = program.post("/api/projects/", key=key, name=f"Project {key}", description="")
    assert answer.status == 201, answer.text


def file_ticket(program: Program, project: str, title: str) -> int:
    """File a ticket by REST. Returns its number."""
    answer = program.post(f"/api/projects/{project}/tickets/", title=title)
    assert answer.status == 201, answer.text
    return int(answer.content["number"])


def test_a_form_rest_and_the_administration_each_do_their_job(site: Site) -> None:
    """A project and its first ticket by form, the second by REST, and the admin page counts both."""
    browser = Browser(site)
    assert browser.sign_in().url == f"{site.address}/"
    browser.fill_in("/projects/new/", key="FORM", name="By form")
    first = browser.fill_in("/FORM/new/", title="Typed by a person")
    assert (first.status, first.url) == (200, f"{site.address}/FORM-1/")
    assert "Typed by a person" in first.text

    program = Program(site)
    second = program.post("/api/projects/FORM/tickets/", title="Sent by a program")
    assert (second.status, second.content["key"], second.content["number"]) == (201, "FORM-2", 2)
    assert program.get("/api/tickets/FORM-1/").content["title"] == "Typed by a person"

    assert '"/admin/sequences/sequence/tickets/"' in browser.get("/admin/sequences/sequence/").text
    counters = browser.get("/admin/sequences/sequence/tickets/")
    assert re.search(r">FORM</a></th>\s*<td[^>]*><span>2</span>", counters.text)


def test_sample_projects_are_there_to_look_at(site: Site) -> None:
    """A fresh folder shows three projects with some twenty tickets."""
    program = Program(site)
    samples = {"APP", "OPS", "SHOP"}
    assert samples <= {project["key"] for project in projects(program)}
    assert 15 <= sum(len(program.numbers(key)) for key in samples) <= 30


def test_numbers_go_on_after_an_end_and_a_start(restart: Restart, site: Site) -> None:
    """What was filed is there after a new start, and the next ticket takes the next number."""
    program = Program(site)
    assert file_ticket(program, "LATER", "After") == 4
    assert program.numbers("LATER") == [4, 3, 2, 1]
    assert restart.after == restart.before


def test_a_start_keeps_the_password_and_the_sessions(restart: Restart, site: Site) -> None:
    """After a new start, the password is the same, only its owner can read its file, and who signed in still is."""
    kept = site.folder / ".local" / "demo_password"
    assert site.password == restart.password == kept.read_text()
    assert stat.S_IMODE(kept.stat().st_mode) == 0o600
    assert restart.browser.get("/").url == f"{site.address}/"


def test_a_killed_run_leaves_nothing_in_the_way(restart: Restart) -> None:
    """After kill -9 of the run itself, its children end too, and the next start finds port and data free."""
    assert restart.code != 0
    assert len(restart.engines) == 1


def test_every_request_is_one_line_of_the_log(site: Site) -> None:
    """A line has the request's id, and nobody fills the log: not by HEAD, by a wrong host, or by an unknown address."""
    asked = [
        ("HEAD", "/problems/", {}, 200, "text/html; charset=utf-8"),
        ("HEAD", "/api/projects/", {}, 401, "application/problem+json"),
        ("GET", "/api/nothing/?token=secret", {}, 404, "application/problem+json"),
        ("GET", "/api/projects/", {"Host": "evil.example"}, 400, "application/problem+json"),
    ]
    for number, (method, path, headers, status, kind) in enumerate(asked):
        connection = HTTPConnection("127.0.0.1", site.port, timeout=60)
        connection.request(method, path, headers={"X-Request-Id": f"walk-{number}", **headers})
        response = connection.getresponse()
        assert (response.status, response.headers["Content-Type"]) == (status, kind)
        assert response.headers["X-Request-Id"] == f"walk-{number}"
        assert (response.read() == b"") == (method == "HEAD")
        assert method != "HEAD" or int(response.headers["Content-Length"]) > 0
        connection.close()
        site.wait_until_said(f"[walk-{number}]: {method} {path.partition('?')[0]} {status} ")
    begun = next(number for number, line in enumerate(site.said) if "[walk-0]" in line)
    said = [line for line in site.said[begun:] if line.strip()]
    assert len(said) == len(asked), "".join(said)


class Clerks:
    """Clients that file tickets as fast as they can until they are stopped, and remember the confirmed ones."""

    def __init__(self, site: Site, projects: list[str]) -> None:
        self.confirmed: list[tuple[str, int, str]] = []
        self.surprises: list[str] = []
        self._stopping = threading.Event()
        self._program = Program(site)
        self._threads = [
            threading.Thread(target=self._work, args=(n, projects[n % len(projects)])) for n in range(CLIENTS)
        ]
        for thread in self._threads:
            thread.start()

    def stop(self) -> None:
        """Stop the clients, and wait for them."""
        self._stopping.set()
        for thread in self._threads:
            thread.join()

    def wait_for_more(self, count: int) -> None:
        """Return when this many more tickets are confirmed."""
        wanted, deadline = len(self.confirmed) + count, time.monotonic() + 60
        while len(self.confirmed) < wanted:
            assert time.monotonic() < deadline, f"{len(self.confirmed)} of {wanted} were confirmed"
            time.sleep(0.02)

    def _work(self, client: int, project: str) -> None:
        sent = 0
        while not self._stopping.is_set():
            sent += 1
            title = f"Client {client}, ticket {sent}"
            try:
                answer = self._program.post(f"/api/projects/{project}/tickets/", title=title)
            except (OSError, http.client.HTTPException):
                self._stopping.wait(0.02)  # there is nobody for a second: to ask without a pause would keep a core busy
                continue
            if answer.status == 201:
                self.confirmed.append((project, int(answer.content["number"]), title))
            elif answer.status != 503:
                self.surprises.append(answer.text)


def test_an_engine_killed_under_load_loses_nothing(site: Site, engine_file: str) -> None:
    """After each kill -9 the engine is back; every confirmed ticket is stored, and the numbers are 1..n."""
    program = Program(site)
    projects = ["CRASH", "LATER2"]
    for key in projects:
        make_project(program, key)
    clerks = Clerks(site, projects)
    try:
        for _ in range(KILLS):
            clerks.wait_for_more(20)
            (engine,) = processes(engine_file)
            os.kill(engine, signal.SIGKILL)
        clerks.wait_for_more(20)
    finally:
        clerks.stop()

    assert clerks.surprises == []
    wait_until(lambda: site.text.count("The engine ended by itself") == KILLS)
    for key in projects:
        numbers = program.numbers(key)
        assert sorted(numbers) == list(range(1, len(numbers) + 1))
    for project, number, title in clerks.confirmed:
        assert program.get(f"/api/tickets/{project}-{number}/").content["title"] == title


def test_a_web_server_killed_under_load_comes_back(site: Site) -> None:
    """After kill -9 of gunicorn's first process its workers end, another one serves, and nothing confirmed is lost."""
    program = Program(site)
    make_project(program, "HEALED")
    clerks = Clerks(site, ["HEALED"])
    try:
        clerks.wait_for_more(20)
        before = web_processes(site)
        os.kill(min(before, key=lambda process: parent(process) in before), signal.SIGKILL)
        site.wait_until_said("The web server was killed by signal 9. It is started again.")
        clerks.wait_for_more(20)
    finally:
        clerks.stop()

    assert clerks.surprises == []
    assert len(before) == 2
    wait_until(lambda: not (after := web_processes(site)) & before and len(after) == 2)  # no worker without a parent
    numbers = program.numbers("HEALED")
    assert sorted(numbers) == list(range(1, len(numbers) + 1))
    assert {number for _, number, _ in clerks.confirmed} <= {*numbers}


def web_processes(site: Site) -> set[int]:
    """gunicorn's processes."""
    return {*processes(f"--bind=127.0.0.1:{site.port}")}


def test_two_runs_do_not_share_an_engine(site: Site, folder: Path) -> None:
    """A second run in the folder is refused in one line, and the first one keeps its engine's address."""
    second = Site(folder, free_port())
    with pytest.raises(AssertionError):
        second.start()
    errors = [line for line in second.said if line.startswith("error:")]
    assert len(errors) == 1
    assert "in use by another run" in errors[0]
    assert "Traceback" not in second.text
    assert (folder / ".local" / "engine" / "endpoint").exists()
    assert Program(site).get("/api/projects/").status == 200


def test_a_wrong_environment_starts_nothing(tmp_path: Path) -> None:
    """All that is wrong is said by the names of the variables, with what to set, before anything is made or started."""
    folder = copy_project(tmp_path / "project")
    site = Site(folder, free_port(), {"DJANGO_SETTINGS_MODULE": PRODUCTION, "WEB_WORKERS": "0"})
    with pytest.raises(AssertionError, match="SECRET_KEY is not set"):
        site.start()
    assert "WEB_WORKERS is '0': set it to a whole number, 1 or more" in site.text
    assert "Traceback" not in site.text
    assert not (folder / ".local" / "data").exists()


def test_nothing_is_left_after_sigterm(site: Site, engine_file: str) -> None:
    """SIGTERM ends web server and engine, without a stack trace, and leaves no address behind."""
    assert len(processes(engine_file)) == 1
    site.stop(signal.SIGTERM)
    assert [*processes(engine_file), *processes(f"127.0.0.1:{site.port}")] == []
    assert not (site.folder / ".local" / "engine" / "endpoint").exists()
    assert "Traceback" not in site.text


def test_a_busy_port_is_refused_before_anything_starts(folder: Path) -> None:
    """A run whose port is taken says so, with the remedy."""
    with socket.socket() as server:
        server.bind(("127.0.0.1", 0))
        server.listen()
        port = server.getsockname()[1]
        with pytest.raises(AssertionError, match=f"port {port} is in use.*PORT=8001 make run"):
            Site(folder, port).start()
