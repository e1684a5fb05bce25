"""Tickets over HTTP: our site and two peers answer the same requests in turns. All run all the time.

All have the same fields, tokens and gunicorn, and log a line for each ticket; limits are off. Ours stores tickets on
the embedded engine with a file, each peer on a PostgreSQL of its own with its default settings. One peer is ordinary,
the other tuned: `site.peer` says how. CPU is the time of the web processes a request, without database and engine.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from project.paths import ROOT
from project.proof.faults.incidents import children
from project.proof.faults.proxy import free_port
from project.proof.faults.stack import Stack, running_stack
from project.proof.peers import load
from project.proof.peers.environment import PEERS_PYTHON, BenchError, say
from project.proof.peers.figures import LastNumbers, Run, in_cells, in_turns, over, percentile, summary
from project.proof.peers.load import Job, Result
from project.proof.peers.postgresql import postgresql
from sequences.testing.processes import HOST

SITE = Path(__file__).parent / "site"
SETTINGS = {"peer": "peer.settings", "tuned": "peer.tuned_settings"}  # of each peer
TICKET = {
    "title": "The export leaves out the last page",
    "description": "Export a report of more than one page as PDF: the file ends one page early. It began on Monday.",
}
PROJECTS = [f"P{number}" for number in range(32)]
LISTED, TICKETS_LISTED = "LISTED", 60
WARM_UP = 0.2  # of a run


def tickets_of(project: str) -> str:
    """The address of a project's tickets."""
    return f"/api/projects/{project}/tickets/"


@dataclass(frozen=True, kw_only=True)
class Case:
    """What the clients ask for: `count` requests to these addresses in turn.

    The bars are our speed over the peer's, and over the tuned peer's.
    """

    text: str
    bar: float
    tuned_bar: float
    method: str = "POST"
    paths: Sequence[str]
    clients: int = 1
    count: int

    def job(self, stack: Stack, scale: float) -> Job:
        """The clients' job on one site."""
        address, creates = urlsplit(stack.address), self.method == "POST"
        return Job(
            host=address.hostname or HOST,
            port=address.port or 80,
            token=stack.token,
            method=self.method,
            paths=list(self.paths),
            body=json.dumps(TICKET) if creates else "",
            clients=self.clients,
            count=max(self.clients, round(self.count * scale)),
            status=201 if creates else 200,
        )


CASES = (
    Case(
        text="create, 1 project, 32 clients", bar=3.0, tuned_bar=2.0, paths=[tickets_of("HOT")], clients=32, count=1600
    ),
    Case(
        text="create, 32 projects, 32 clients",
        bar=1.7,
        tuned_bar=1.0,
        paths=[*map(tickets_of, PROJECTS)],
        clients=32,
        count=1600,
    ),
    Case(text="create, 1 client", bar=1.6, tuned_bar=1.0, paths=[tickets_of("LONE")], count=400),
    Case(text="list of 50, 1 client", bar=1.2, tuned_bar=0.7, method="GET", paths=[tickets_of(LISTED)], count=200),
    Case(
        text="one ticket, 1 client",
        bar=1.8,
        tuned_bar=1.0,
        method="GET",
        paths=[f"/api/tickets/{LISTED}-{number}/" for number in range(1, TICKETS_LISTED + 1)],
        count=600,
    ),
)
FILLING = Case(text="fill the list", bar=0, tuned_bar=0, paths=[tickets_of(LISTED)], count=TICKETS_LISTED)


@dataclass(kw_only=True)
class Site:
    """One of the sites."""

    name: str
    stack: Stack
    numbers: LastNumbers = field(default_factory=LastNumbers)

    def prepare(self) -> None:
        """Make the projects, and fill the one whose tickets are listed."""
        for key in ["HOT", "LONE", LISTED, *PROJECTS]:
            reply = self.stack.ask("POST", "/api/projects/", {"key": key, "name": f"Project {key}"})
            if reply.status != 201:
                raise BenchError(f"{self.name}: no project could be made: {reply.status} {reply.content}")
        if self.run(FILLING).faults:
            raise BenchError(f"{self.name}: the list could not be filled.")

    def run(self, case: Case, scale: float = 1.0) -> Run:
        """Let the clients ask for everything once. Faults are failed requests, and missing or repeated numbers."""
        began = self._cpu_seconds()
        result = carried_out(case.job(self.stack, scale))
        took = self._cpu_seconds() - began
        if not result.bodies:
            raise BenchError(f"{self.name}: {case.text}: no request succeeded: {result.failures}")
        if result.failures:
            say(f"{self.name}: {case.text}: failed requests: {result.failures}")
        tickets = map(json.loads, result.bodies) if case.method == "POST" else ()
        wrong = self.numbers.go_on((ticket["project"], ticket["number"]) for ticket in tickets)
        return Run(
            per_second=round(len(result.bodies) / result.seconds, 1),
            faults=sum(result.failures.values()) + wrong,
            p50_ms=round(percentile(result.milliseconds, 0.5), 2),
            p99_ms=round(percentile(result.milliseconds, 0.99), 2),
            cpu_ms=round(1000 * took / len(result.bodies), 2),
        )

    def _cpu_seconds(self) -> float:
        """The CPU time that the web processes have taken, as Linux counts it."""
        ticks = 0
        for worker in children(self.stack.web.pid):
            fields = Path(f"/proc/{worker}/stat").read_text().rpartition(")")[2].split()
            ticks += int(fields[11]) + int(fields[12])  # user and system
        return ticks / os.sysconf("SC_CLK_TCK")


def measure(runs: int, scale: float) -> list[dict[str, Any]]:
    """The figures of all sites in each case, and our ratios. `scale` makes the runs shorter or longer."""
    with running_sites() as sites:
        for site in sites:
            site.prepare()
        for peer in sites[1:]:
            require_equal_shapes(sites[0], peer)
        return [measure_case(case, sites, runs, scale) for case in CASES]


def measure_case(case: Case, sites: Sequence[Site], runs: int, scale: float) -> dict[str, Any]:
    """The figures of one case. Each site is warmed up before."""
    found: dict[str, list[Run]] = {site.name: [] for site in sites}
    for site in sites:
        site.run(case, scale * WARM_UP)
    for number, site in in_turns(sites, runs):
        say(f"round {number + 1} of {runs}: {case.text}: {site.name}")
        found[site.name].append(site.run(case, scale))
    bars = {"peer": case.bar, "tuned": case.tuned_bar}
    ratios = {name: over(found["ours"], found[name], bar) for name, bar in bars.items()}
    return {"case": case.text, "over": ratios} | {name: summary(rounds) for name, rounds in found.items()}


@contextmanager
def running_sites() -> Iterator[list[Site]]:
    """Our site, and the peers'."""
    with ExitStack() as stack:
        folder = stack.enter_context(tempfile.TemporaryDirectory())
        ours = stack.enter_context(running_stack(Path(folder), through_proxy=False))
        yield [
            Site(name="ours", stack=ours),
            *(Site(name=name, stack=stack.enter_context(running_peer(name, ours))) for name in SETTINGS),
        ]


@contextmanager
def running_peer(name: str, ours: Stack) -> Iterator[Stack]:
    """Our stack with a peer's site in place of ours, on the same gunicorn with its own threads. It is signed in."""
    with postgresql() as socket_folder:
        settings = {"DJANGO_SETTINGS_MODULE": SETTINGS[name], "PGHOST": socket_folder}
        environment = {name: value for name, value in ours.environment.items() if name != "PYTHONPATH"} | settings
        for command in (["migrate", "--run-syncdb"], ["createsuperuser", "--noinput"]):
            django = [str(PEERS_PYTHON), "-m", "django", *command, "-v0"]
            subprocess.run(django, cwd=SITE, env=environment, check=True)
        peer = _in_place_of(ours, name, environment)
        try:
            peer.start_web()
            peer.sign_in()
            yield peer
        finally:
            peer.stop_web()


def _in_place_of(ours: Stack, name: str, environment: Mapping[str, str]) -> Stack:
    port, folder = free_port(), ours.folder / name
    folder.mkdir()
    of_ours = ("--bind=", "--config=", "--worker-class=")
    flags = [flag for flag in ours.command if flag.startswith("--") and not flag.startswith(of_ours)]
    return replace(
        ours,
        folder=folder,
        command=[str(PEERS_PYTHON), "-m", "gunicorn", "peer.wsgi", f"--bind={HOST}:{port}", *flags],
        environment=environment,
        address=f"http://{HOST}:{port}",
        token="",
        home=SITE,
    )


def carried_out(job: Job) -> Result:
    """The result of a job, which the clients do in a process of their own."""
    done = subprocess.run(
        [sys.executable, "-m", load.__name__],
        input=json.dumps(asdict(job)),
        stdout=subprocess.PIPE,
        text=True,
        cwd=ROOT,
        check=False,
    )
    if done.returncode:
        raise BenchError("The clients failed, see above.")
    return Result(**json.loads(done.stdout))


def require_equal_shapes(ours: Site, peer: Site) -> None:
    """Raise BenchError unless two sites answer with JSON of one shape, and the list has 50 tickets."""
    for path in (tickets_of(LISTED), f"/api/tickets/{LISTED}-1/"):
        ours_answer, peer_answer = (site.stack.ask("GET", path).content for site in (ours, peer))
        if shape(ours_answer) != shape(peer_answer):
            raise BenchError(f"The sites answer {path} differently:\n{ours_answer}\n{peer_answer}")
        if len(ours_answer.get("results", [0] * 50)) != 50:
            raise BenchError("The first page of a list does not have 50 tickets.")


def shape(value: Any) -> Any:
    """The names and types in JSON, without the values."""
    if isinstance(value, dict):
        return {name: shape(inner) for name, inner in value.items()}
    return [shape(inner) for inner in value] if isinstance(value, list) else type(value)


def as_table(cases: Sequence[dict[str, Any]]) -> str:
    """The result as a Markdown table."""
    lines = [
        "Tickets over HTTP, ours / Django with PostgreSQL and django-sequences / the same, tuned",
        "",
        "| Case | Bar | Over the peer | Bar | Over the tuned peer | Requests/s | p50 ms | p99 ms | CPU ms | Faults |",
        "| --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |",
    ]
    for case in cases:
        figures = " | ".join(
            " / ".join(f"{case[site][figure]:,.{digits}f}" for site in ("ours", *SETTINGS))
            for figure, digits in {"per_second": 0, "p50_ms": 1, "p99_ms": 1, "cpu_ms": 2, "faults": 0}.items()
        )
        lines.append(
            f"| {case['case']} | {' | '.join(in_cells(case['over'][name]) for name in SETTINGS)} | {figures} |"
        )
    return "\n".join(lines)
