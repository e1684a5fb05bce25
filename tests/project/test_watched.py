"""The site as its operator watches it: the metrics of its web processes, and the log as JSON.

The environment says all that it can say: also the engine, and the address.
"""

import json
import os
import re
import signal
import threading
import urllib.error
import urllib.request
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from prometheus_client.parser import text_string_to_metric_families

from project.proof.copies import copy_project
from project.proof.faults.clients import bare_client
from sequences.testing.embedded import Engine
from tests.project.site import NO_PROXY, Program, Site, free_port, parent, processes, running_site
from tests.sequences.support import wait_until

pytestmark = pytest.mark.needs_engine

WORKERS, THREADS, CLIENTS, EACH = 2, 5, 8, 3  # by default there are two workers
FILED = CLIENTS * EACH
TOKEN = "a token for the monitor"
LIVING = "gauge_livesum_*.db"  # the files of what ends with its process


@pytest.fixture(scope="module")
def other_engine() -> Iterator[Engine]:
    """The engine that the environment names."""
    with Engine() as engine:
        yield engine


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory, other_engine: Engine) -> Iterator[Site]:
    """The running site, whose metrics can be read with a token, and whose log is JSON."""
    folder = copy_project(tmp_path_factory.mktemp("watched") / "project")
    environment = {"METRICS_TOKEN": TOKEN, "LOG_FORMAT": "json", "WEB_THREADS": str(THREADS), "BIND": "0.0.0.0"}
    environment |= {"AWS_ENDPOINT_URL_DYNAMODB": other_engine.endpoint, "TABLE_PREFIX": "other_"}
    with running_site(Site(folder, free_port(), environment)) as site:
        yield site


@pytest.fixture(autouse=True)
def running(site: Site) -> None:
    """A test may have stopped it."""
    if not workers(site):
        site.start()


def scraped(site: Site, token: str = TOKEN) -> str:
    """The text that Prometheus reads."""
    request = urllib.request.Request(f"{site.address}/metrics", headers={"Authorization": f"Bearer {token}"})
    with urllib.request.build_opener(NO_PROXY).open(request, timeout=60) as answer:
        return str(answer.read().decode())


def sums(site: Site) -> dict[str, float]:
    """What the metrics say of tickets: values, answers, calls, and items in groups."""
    found: dict[str, float] = {}
    for family in text_string_to_metric_families(scraped(site)):
        for sample in family.samples:
            if sample.labels.get("sequence") == "tickets" and sample.labels.get("of", "items") == "items":
                found[sample.name] = found.get(sample.name, 0) + sample.value
    names = ("values_total", "answers_total", "call_seconds_count", "group_size_sum", "wait_seconds_count")
    return {name: found.get(f"sequences_{name}", 0.0) for name in names}


def file_all(site: Site, key: str) -> None:
    """Make a project, and file its tickets by eight clients at the same time."""
    program = Program(site)
    assert program.post("/api/projects/", key=key, name=key, description="").status == 201

    def work(client: int) -> None:
        for number in range(EACH):
            answer = program.post(f"/api/projects/{key}/tickets/", title=f"Client {client}, ticket {number}")
            assert answer.status == 201, answer.text

    with ThreadPoolExecutor(CLIENTS) as clients:
        list(clients.map(work, range(CLIENTS)))
    assert sorted(program.numbers(key)) == list(range(1, FILED + 1))


def workers(site: Site) -> set[int]:
    """The ids of the web processes, without their parent."""
    found = processes(f"--bind=0.0.0.0:{site.port}")
    return {pid for pid in found if parent(pid) in found}


def lines(site: Site) -> list[dict[str, Any]]:
    """The lines of the log, which are all that it prints but for the words at its start."""
    return [json.loads(line) for line in site.said if line.startswith("{")]


def test_the_sums_of_all_processes(site: Site) -> None:
    """Whichever process answers, the sums are those of all: also of one that was killed and replaced.

    Only the processes that live count as living. The word of gunicorn on the one that was killed is JSON, too.
    """
    before = sums(site)
    file_all(site, "FIRST")
    assert {sums(site)[name] - before[name] for name in before} == {FILED}
    assert {json.dumps(sums(site)) for _ in range(4 * WORKERS)} == {json.dumps(sums(site))}

    running = workers(site)
    assert len(running) == WORKERS
    folder, killed = measured_in(site), min(running)
    os.kill(killed, signal.SIGKILL)
    wait_until(lambda: len(workers(site)) == WORKERS and len(workers(site) & running) == WORKERS - 1, 60)
    wait_until(lambda: {int(one.stem.rpartition("_")[2]) for one in folder.glob(LIVING)} == workers(site), 60)
    wait_until(lambda: any(f"{killed}) was sent SIGKILL" in line["message"] for line in lines(site)), 60)
    assert "gunicorn.error" in {line["logger"] for line in lines(site)}
    file_all(site, "SECOND")
    assert {sums(site)[name] - before[name] for name in before} == {2 * FILED}


def test_what_the_processes_are_doing(site: Site) -> None:
    """All processes count; requests are there by their routes. All that is printed after the start is JSON."""
    assert Program(site).post("/api/projects/", key="DOING", name="Doing", description="").status == 201
    wait_until(lambda: f"\ntickets_threads {THREADS * WORKERS}.0\n" in scraped(site))
    text = scraped(site)
    assert '\ntickets_http_requests_total{method="POST",route="api:project_list",status="201"} ' in text
    assert re.search(r'^tickets_build_info\{revision="unknown",version="[\d.]+"\} 1.0$', text, re.MULTILINE)
    assert re.search(r"^tickets_oldest_request_seconds \d+(\.\d+)?(e-\d+)?$", text, re.MULTILINE)

    started = next(number for number, line in enumerate(site.said) if "Ctrl-C stops" in line)
    after = [line for line in site.said[started + 1 :] if line.strip()]
    assert [line for line in after if not line.startswith("{")] == []


def measured_in(site: Site) -> Path:
    """The folder in which the processes of the site add up what they measure."""
    maps = "".join(Path(f"/proc/{pid}/maps").read_text() for pid in workers(site))
    (folder,) = map(Path, set(re.findall(r"(/\S*)/counter_\d+\.db", maps)))
    return folder


def test_only_who_has_the_token_reads_them(site: Site) -> None:
    """Without the token there is no answer, and with it nothing of keys, titles and persons."""
    for token in ("", "another", f"{TOKEN}x"):
        with pytest.raises(urllib.error.HTTPError) as error:
            scraped(site, token)
        assert error.value.code == 401
        error.value.close()
    text = scraped(site)
    assert [word for word in ("FIRST", "demo", "Client", TOKEN) if word in text] == []


def test_each_line_of_the_log_is_an_object(site: Site) -> None:
    """A ticket's line has the id of its request, what it cost, and its group; the request's line who sent it."""
    program = Program(site)
    assert program.post("/api/projects/", key="LINES", name="Lines", description="").status == 201
    answer = program.post("/api/projects/LINES/tickets/", title="content nobody may read")
    site.wait_until_said('"path": "/api/projects/LINES/tickets/"')
    (access,) = [line for line in lines(site) if line.get("path") == "/api/projects/LINES/tickets/"]
    (ticket,) = [line for line in lines(site) if line.get("scope") == "LINES" and line["sequence"] == "tickets"]
    assert re.fullmatch("[0-9a-f]{32}", access["request_id"])
    assert ticket["request_id"] == access["request_id"]
    assert (access["method"], access["status"], access["user"]) == ("POST", 201, "demo")
    assert (access["level"], access["logger"], access["bytes"]) == ("INFO", "tickets.access_log", len(answer.text))
    assert (ticket["value"], ticket["attempts"], ticket["replayed"], ticket["group_size"]) == (1, 1, False, 1)
    assert (ticket["write_units"] > 0, ticket["milliseconds"] > 0) == (True, True)
    assert not re.search("content nobody|password|Token ", json.dumps([access, ticket]))


def test_a_leader_and_its_group_have_their_own_requests(site: Site) -> None:
    """Of requests that are served by one write, each line has the id of its own."""
    program = Program(site)
    assert program.post("/api/projects/", key="GROUP", name="Group", description="").status == 201
    barrier = threading.Barrier(CLIENTS)

    def file(_: int) -> None:
        barrier.wait()
        assert program.post("/api/projects/GROUP/tickets/", title="any").status == 201

    with ThreadPoolExecutor(CLIENTS) as clients:
        list(clients.map(file, range(CLIENTS)))
    wait_until(lambda: sum(line.get("path") == "/api/projects/GROUP/tickets/" for line in lines(site)) == CLIENTS)
    accesses = {line["request_id"] for line in lines(site) if line.get("path") == "/api/projects/GROUP/tickets/"}
    tickets = [line for line in lines(site) if line.get("scope") == "GROUP" and line.get("sequence") == "tickets"]
    assert len(accesses) == len(tickets) == CLIENTS
    assert {line["request_id"] for line in tickets} == accesses


def test_its_address_is_that_of_the_environment(site: Site) -> None:
    """BIND opens the site to other machines."""
    assert f"http://0.0.0.0:{site.port}/" in site.text


def test_another_engine_is_used_where_one_is_named(site: Site, other_engine: Engine) -> None:
    """With AWS_ENDPOINT_URL_DYNAMODB no engine is started, and tickets go to the one that it names."""
    program = Program(site)
    assert program.post("/api/projects/", key="OTHER", name="Other", description="").status == 201
    assert program.post("/api/projects/OTHER/tickets/", title="Elsewhere").content["number"] == 1
    assert not (site.folder / ".local" / "data").exists()
    key = {"pk": {"S": "OTHER"}, "sk": {"N": "1"}}
    row = bare_client(other_engine.endpoint).get_item(TableName="other_tickets", Key=key)["Item"]
    assert row["title"] == {"S": "Elsewhere"}


def test_nothing_is_left_after_ctrl_c(site: Site) -> None:
    """Ctrl-C ends the web server without a stack trace, and what its processes shared is removed with them."""
    Program(site)
    folder = measured_in(site)
    assert folder.is_dir()
    site.stop()
    assert processes(f"0.0.0.0:{site.port}") == []
    assert "Traceback" not in site.text
    assert not folder.exists()
