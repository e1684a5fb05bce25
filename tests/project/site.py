"""The product as a person runs it: `make run` in a folder of its own, with a browser and a program as clients."""

import http.cookiejar
import json
import os
import re
import signal
import subprocess
import sys
import threading
import time
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import cycle
from pathlib import Path
from typing import Any

from sequences.testing.processes import port_is_free

START_SECONDS = 120.0
STOP_SECONDS = 60.0
ANSWER_SECONDS = 60.0
PYTHON = str(Path(sys.executable).resolve())  # not by a name for which a shim would search
FIRST_PORT = 18_000 + os.getpid() % 100 * 20
PORTS = cycle(range(FIRST_PORT, FIRST_PORT + 20))
NO_PROXY = urllib.request.ProxyHandler({})
# The variables that a run reads. They are removed, so that the run starts with the defaults.
READ_BY_RUN = re.compile(
    r"AWS_|TABLE_|SECRET_KEY|DEBUG|ALLOWED_|DATABASE_|PORT$|BIND$|WEB_|DJANGO_|DYNOXIDE|MAKE|THROTTLE|PROX|METRICS_|LOG_"
)


def inherited() -> dict[str, str]:
    """Our environment, without what a run reads."""
    return {name: value for name, value in os.environ.items() if not READ_BY_RUN.match(name)}


@dataclass
class Site:
    """`make run` in `folder` on `port`. `said` has all lines that it printed since its last start."""

    folder: Path
    port: int
    environment: Mapping[str, str] = field(default_factory=dict)
    said: list[str] = field(default_factory=list)
    password: str = ""
    tokens: dict[str, str] = field(default_factory=dict)
    """The tokens of those who have signed in to the API, by their names: to check a password takes half a second."""

    @property
    def address(self) -> str:
        """The address of its pages."""
        return f"http://127.0.0.1:{self.port}"

    @property
    def is_running(self) -> bool:
        """Whether it was started, and has not ended."""
        return self._process.poll() is None

    @property
    def text(self) -> str:
        """Everything that it printed, as one text."""
        return "".join(self.said)

    def start(self) -> None:
        """Start it, and return when it has printed how to sign in."""
        self.said.clear()
        # A process group of its own, as in a terminal: Ctrl-C goes to the whole group.
        self._process = subprocess.Popen(
            ["make", "run"],
            cwd=self.folder,
            env={**inherited(), "PYTHON": PYTHON, **self.environment, "PORT": str(self.port)},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            start_new_session=True,
        )
        self._reader = threading.Thread(target=self._read)
        self._reader.start()
        self.wait_until_said("Ctrl-C stops")
        found = re.search(r"Sign in as demo with the password (\S+)", self.text)
        self.password = found.group(1) if found else ""

    def wait_until_said(self, words: str) -> None:
        """Wait until it prints this. Raises AssertionError with everything that it printed if it ends before."""
        deadline = time.monotonic() + START_SECONDS
        while words not in self.text:
            assert self._reader.is_alive(), f"it ended with {self._process.wait()}:\n{self.text}"
            assert time.monotonic() < deadline, f"it did not say {words!r}:\n{self.text}"
            time.sleep(0.05)

    def manage(self, *arguments: str) -> None:
        """Run a command of `manage.py` beside it. Raises CalledProcessError if it fails."""
        subprocess.run([sys.executable, "manage.py", *arguments], cwd=self.folder, env=inherited(), check=True)

    def stop(self, by: signal.Signals = signal.SIGINT) -> int:
        """Stop it like Ctrl-C in its terminal, or by another signal to `make` alone. Returns the exit code."""
        if by is signal.SIGINT:
            os.killpg(self._process.pid, by)
        else:
            self._process.send_signal(by)
        return self.wait()

    def wait(self) -> int:
        """Wait until it ends by itself. Returns the exit code."""
        code = self._process.wait(STOP_SECONDS)
        self._reader.join()
        return code

    def _read(self) -> None:
        assert self._process.stdout
        with self._process.stdout as lines:
            self.said.extend(lines)


@contextmanager
def running_site(site: Site) -> Iterator[Site]:
    """The running site. It is stopped at the end of the block, whatever happens."""
    site.start()
    try:
        yield site
    finally:
        if site.is_running:
            site.stop()


def processes(words: str) -> list[int]:
    """The ids of the running processes with these words in their command line."""
    found = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            if words.encode() in path.read_bytes():
                found.append(int(path.parent.name))
        except OSError:  # the process ended meanwhile
            pass
    return found


def parent(pid: int) -> int:
    """The id of the process that started this one; 0 if it has ended meanwhile."""
    try:
        return int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])
    except OSError:
        return 0


def free_port() -> int:
    """A free port below the range of outgoing connections, in turn: no other process that tests takes it meanwhile."""
    return next(port for port in PORTS if port_is_free(port))


@dataclass(frozen=True)
class Answer:
    """An HTTP answer, after all redirects."""

    status: int
    url: str
    text: str

    @property
    def content(self) -> Any:
        """The body as JSON."""
        return json.loads(self.text)


class Browser:
    """A browser: it keeps cookies, follows redirects, and fills in forms with their hidden fields."""

    def __init__(self, site: Site) -> None:
        self._kept = http.cookiejar.CookieJar()
        self._opener = urllib.request.build_opener(NO_PROXY, urllib.request.HTTPCookieProcessor(self._kept))
        self._site = site

    @property
    def cookies(self) -> dict[str, str]:
        """Its cookies by their names."""
        return {cookie.name: cookie.value or "" for cookie in self._kept}

    def get(self, path: str) -> Answer:
        """Open a page."""
        return self._open(urllib.request.Request(self._site.address + path))

    def fill_in(self, path: str, **typed: str) -> Answer:
        """Open the page, fill in the form that has these fields, and send it."""
        page = self.get(path)
        forms = re.findall(r"<form.*?</form>", page.text, re.DOTALL)
        form = next(form for form in forms if all(f'name="{name}"' in form for name in typed))
        inputs = re.findall(r'<input[^>]*type="hidden"[^>]*>', form)
        hidden = {_attribute(tag, "name"): _attribute(tag, "value") for tag in inputs}
        request = urllib.request.Request(page.url, urllib.parse.urlencode({**hidden, **typed}).encode())
        request.add_header("Referer", page.url)
        return self._open(request)

    def sign_in(self, name: str = "demo") -> Answer:
        """Sign in as the demo administrator, or as another person with the printed password."""
        return self.fill_in("/login/", username=name, password=self._site.password)

    def _open(self, request: urllib.request.Request) -> Answer:
        return _send(self._opener, request)


class Program:
    """A client of the REST API with the token of the demo administrator, or of another with the printed password."""

    def __init__(self, site: Site, name: str = "demo") -> None:
        self._site = site
        self._token = ""
        if name not in site.tokens:
            login = {"username": name, "password": site.password}
            site.tokens[name] = self.post("/api/auth/token/", **login).content["token"]
        self._token = site.tokens[name]

    def get(self, path: str) -> Answer:
        """Send a GET request."""
        return self._send("GET", path, None)

    def post(self, path: str, **content: Any) -> Answer:
        """Send a POST request with a JSON object. Raises OSError if there is no answer."""
        return self.send("POST", path, **content)

    def send(self, method: str, path: str, **content: Any) -> Answer:
        """Send a request by another method with a JSON object."""
        return self._send(method, path, json.dumps(content).encode())

    def numbers(self, project: str) -> list[int]:
        """The numbers of all tickets of a project, in the order of the list."""
        path: str | None = f"/api/projects/{project}/tickets/"
        numbers: list[int] = []
        while path:
            page = self.get(path).content
            numbers += [ticket["number"] for ticket in page["results"]]
            path = page["next"] and page["next"].removeprefix(self._site.address)
        return numbers

    def _send(self, method: str, path: str, body: bytes | None) -> Answer:
        request = urllib.request.Request(self._site.address + path, body, method=method)
        request.add_header("Content-Type", "application/json")
        if self._token:
            request.add_header("Authorization", f"Token {self._token}")
        return _send(urllib.request.build_opener(NO_PROXY), request)


def _send(opener: urllib.request.OpenerDirector, request: urllib.request.Request) -> Answer:
    try:
        with opener.open(request, timeout=ANSWER_SECONDS) as reply:
            return Answer(reply.status, reply.url, reply.read().decode())
    except urllib.error.HTTPError as error:
        with error:
            return Answer(error.code, error.url, error.read().decode())


def _attribute(tag: str, name: str) -> str:
    found = re.search(rf'\b{name}="([^"]*)"', tag)
    return found.group(1) if found else ""
