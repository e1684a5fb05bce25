"""What every request passes through: its line in the log, HEAD, compression, 304, error pages, words for htmx."""

import gc
import json
import logging
import re
import weakref
from collections.abc import Callable, Iterator
from types import SimpleNamespace
from typing import Any
from unittest.mock import Mock

import pytest
from django.contrib.auth.models import User
from django.contrib.sessions.middleware import SessionMiddleware
from django.core.handlers.wsgi import WSGIHandler
from django.http import FileResponse, HttpRequest, HttpResponse, JsonResponse, StreamingHttpResponse
from django.test import Client, RequestFactory
from django.utils.functional import SimpleLazyObject
from pytest_django import DjangoAssertNumQueries, Settings
from rest_framework.test import APIClient

from tickets import middleware, selectors
from tickets.accounts.services import make_token
from tickets.middleware import AccessLog, Compression, ErrorPages, HeadWithoutBody, InPlace, Unchanged
from tickets.types import Project, Ticket

LONG = "long " * 100


@pytest.fixture
def lines(caplog: pytest.LogCaptureFixture) -> Iterator[list[str]]:
    """The access log: lines with their level."""
    found: list[str] = []

    class Handler(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            found.append(f"{record.levelname} {record.getMessage()}")

    logger, handler = logging.getLogger("tickets.access_log"), Handler()
    logger.addHandler(handler)
    yield found
    logger.removeHandler(handler)


class TestAccessLog:
    def test_a_request_is_a_line(self, browser: Client, api: APIClient, abc: Project, lines: list[str]) -> None:
        """A line has method, path, status, milliseconds, bytes and user, and nothing of the query."""
        page = browser.get("/ABC/?cursor=secret")
        call = api.post("/api/projects/ABC/tickets/?token=secret", {"title": "x"})
        assert [re.sub(r"\d+ ms", "n ms", line) for line in lines] == [
            f"INFO GET /ABC/ {page.status_code} n ms {len(page.content)} bytes ann",
            f"INFO POST /api/projects/ABC/tickets/ 201 n ms {len(call.content)} bytes ann",
        ]

    def test_the_milliseconds_are_those_of_the_request(
        self, lines: list[str], monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
    ) -> None:
        """The time of a line is that from the request to its answer; a log in JSON has it to a tenth."""
        monkeypatch.setattr("tickets.middleware.time.perf_counter", iter([7.0, 7.25031]).__next__)
        with caplog.at_level(logging.INFO, "tickets.access_log"):
            AccessLog(lambda _: HttpResponse())(RequestFactory().get("/"))
        assert " 250 ms " in lines[0]
        assert vars(caplog.records[0])["milliseconds"] == 250.3

    def test_each_part_of_a_line_has_a_name(self, client: Client, db: None, caplog: pytest.LogCaptureFixture) -> None:
        """A log in JSON has the parts one by one."""
        with caplog.at_level(logging.INFO, "tickets.access_log"):
            page = client.get("/problems/")
        (told,) = [vars(record) for record in caplog.records if record.name == "tickets.access_log"]
        named = {name: told[name] for name in ("method", "path", "status", "bytes", "user")}
        assert named == {
            "method": "GET",
            "path": "/problems/",
            "status": 200,
            "bytes": len(page.content),
            "user": None,
        }
        assert told["milliseconds"] >= 0

    def test_a_fault_is_a_line(self, ann: User, lines: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
        """A request that failed for a fault of ours is logged with status 500."""
        monkeypatch.setattr(selectors, "list_projects", None)
        browser = Client(raise_request_exception=False)
        browser.force_login(ann)
        browser.get("/")
        assert lines[0].startswith("INFO GET / 500 ")

    def test_a_stranger_is_a_dash(
        self, client: Client, lines: list[str], django_assert_num_queries: DjangoAssertNumQueries, db: None
    ) -> None:
        """Where nobody asked who it was, the log does not either: it costs no query."""
        with django_assert_num_queries(0):
            client.get("/nothing/")
        assert lines[0].endswith(" bytes -")

    def test_the_log_looks_nobody_up(self, lines: list[str]) -> None:
        """A user whom no view has asked for is not looked up for the log."""

        def look_up() -> User:
            raise AssertionError

        for user in (None, SimpleLazyObject(look_up)):
            request = RequestFactory().get("/")
            request.user = user  # type: ignore[assignment]
            AccessLog(lambda _: HttpResponse())(request)
        assert [line.endswith(" bytes -") for line in lines] == [True, True]

    def test_no_address_forges_a_line(self, client: Client, lines: list[str], db: None) -> None:
        """A path with a line end is one line."""
        client.get("/a%0AINFO%20GET%20/forged/")
        assert len(lines) == 1
        assert "\n" not in lines[0]
        assert lines[0].startswith("INFO GET /a\\nINFO GET /forged/ ")

    def test_quiet_addresses_are_logged_at_debug(
        self, client: Client, lines: list[str], settings: Settings, caplog: pytest.LogCaptureFixture
    ) -> None:
        """What is asked every few seconds does not fill the log."""
        settings.ACCESS_LOG_QUIET = {"/quiet/"}
        answer = AccessLog(lambda _: HttpResponse())
        with caplog.at_level(logging.DEBUG, "tickets.access_log"):
            for address in ("/quiet/", "/loud/"):
                answer(RequestFactory().get(address))
        assert [line.split(" ")[0] for line in lines] == ["DEBUG", "INFO"]

    def test_a_stream_has_no_length(self, lines: list[str]) -> None:
        """The bytes of a stream are not known when it begins, and it is not read for the log."""
        answered = AccessLog(lambda _: StreamingHttpResponse(iter([b"x"])))(RequestFactory().get("/"))  # type: ignore[arg-type, return-value]
        assert " - bytes" in lines[0]
        assert answered.getvalue() == b"x"

    def test_a_wrong_host_is_no_trace(
        self, client: Client, db: None, caplog: pytest.LogCaptureFixture, lines: list[str]
    ) -> None:
        """Who asks for a host that the site does not have gets one line in the log, and no trace of the stack."""
        assert client.get("/", headers={"Host": "evil.example"}).status_code == 400
        assert [record.name for record in caplog.records] == ["tickets.access_log"]
        assert len(lines) == 1


class TestHead:
    @pytest.mark.parametrize("kind", [HttpResponse, StreamingHttpResponse])
    def test_it_has_no_body(self, kind: Any) -> None:
        """An answer to HEAD has the headers of GET, and no body; an answer to GET keeps it."""

        def answer(_: HttpRequest) -> Any:
            return kind(iter([b"text"]), headers={"Content-Length": "4"})

        bodies = {}
        for method in ("HEAD", "GET"):
            response: Any = HeadWithoutBody(answer)(RequestFactory().generic(method, "/"))
            assert response["Content-Length"] == "4"
            bodies[method] = response.getvalue()
        assert bodies == {"HEAD": b"", "GET": b"text"}


def page() -> HttpResponse:
    """A page."""
    return HttpResponse(LONG)


def data() -> HttpResponse:
    """What REST answers."""
    return JsonResponse({"text": LONG})


def secret() -> HttpResponse:
    """What REST answers and nobody may keep."""
    return JsonResponse({"text": LONG}, headers={"Cache-Control": "private, no-store"})


def stream() -> HttpResponse:
    """What is written while it is sent."""
    return StreamingHttpResponse(iter([LONG.encode()]), content_type="text/csv")  # type: ignore[return-value]


def file() -> HttpResponse:
    """A file."""
    return FileResponse([LONG.encode()], content_type="text/css")  # type: ignore[return-value]


@pytest.mark.parametrize(
    ("make", "path", "compressed", "tagged"),
    [
        (page, "/ABC/", True, False),
        (page, "/api/docs/", True, False),
        (data, "/api/projects/", True, True),
        (data, "/apis/", False, False),
        (secret, "/api/auth/tokens/", False, False),
        (stream, "/api/projects/ABC/tickets.csv", False, False),
        (file, "/static/x.css", True, False),
    ],
)
def test_what_is_compressed_and_what_has_an_etag(make: Any, path: str, compressed: bool, tagged: bool) -> None:
    """Whole answers of REST are both, unless nobody may keep them; pages and files are compressed alone."""
    request = RequestFactory().get(path, headers={"Accept-Encoding": "gzip"})
    passed: list[Any] = [middleware(lambda _: make())(request) for middleware in (Compression, Unchanged)]
    assert [answer.has_header("Content-Encoding") for answer in passed] == [compressed, False]
    assert [answer.has_header("ETag") for answer in passed] == [False, tagged]


class TestErrors:
    def test_what_is_not_known_is_left_to_django(self) -> None:
        """No page is made of a fault of ours."""
        assert ErrorPages(lambda _: page()).process_exception(RequestFactory().get("/"), KeyError("x")) is None


class TestInPlace:
    @pytest.mark.parametrize(
        ("htmx", "current", "answer", "headers"),
        [
            (False, None, HttpResponse(), {}),
            (True, None, HttpResponse(), {}),
            (True, "/ABC/?x=1", HttpResponse(), {"HX-Push-Url": "false"}),
            (True, "/ABC/?x=1#comment", HttpResponse(), {"HX-Push-Url": "false"}),
            (True, "/ABC/", HttpResponse(), {}),
            (True, None, HttpResponse(status=302, headers={"Location": "/XYZ/"}), {"Location": "/XYZ/"}),
            (False, None, HttpResponse(status=302, headers={"Location": "/#a"}), {"Location": "/#a"}),
            (True, None, HttpResponse(status=201, headers={"Location": "/#a"}), {"Location": "/#a"}),
            (True, None, HttpResponse(status=302, headers={"Location": "/#a"}), {"HX-Location": '{"path": "/#a"}'}),
        ],
    )
    def test_what_htmx_is_told(
        self, htmx: bool, current: str | None, answer: HttpResponse, headers: dict[str, str]
    ) -> None:
        """A place in a page is told as such, and the page that one is on is no new entry; others are told nothing."""

        class Htmx(SimpleNamespace):
            def __bool__(self) -> bool:
                return htmx

        request: Any = RequestFactory().get("/ABC/?x=1")
        request.htmx = Htmx(current_url_abs_path=current)
        told: Any = InPlace(lambda _: answer)(request)
        assert {name: value for name, value in told.items() if name != "Content-Type"} == headers

    def test_what_is_no_address(self, browser: Client, ticket: Ticket) -> None:
        """A page that cannot be read as an address is not the one that one is on: what is stored is not denied."""
        headers = {"HX-Request": "true", "HX-Current-URL": "http://["}
        response = browser.post("/ABC-1/comments/", {"text": "Stored."}, headers=headers)
        assert (response.status_code, "HX-Location" in response) == (200, True)
        assert browser.get("/ABC-1/", headers=headers).status_code == 200


class TestBypass:
    @pytest.fixture(params=["GET", "POST", "PATCH", "nowhere", "unknown"])
    def ask(self, request: pytest.FixtureRequest, ann: User, ticket: Ticket) -> Callable[[Client], Any]:
        """A request of a program with a token, or with none that is known."""
        text = make_token(ann, name="tests", days=90)[1] if request.param != "unknown" else "another"
        method, path, sent = {
            "POST": ("POST", "/api/projects/ABC/tickets/", {"title": "x"}),
            "PATCH": ("PATCH", "/api/tickets/ABC-1/", {"colour": "red"}),
            "nowhere": ("GET", "/api/nowhere/", {}),
        }.get(request.param, ("GET", "/api/tickets/ABC-1/", {}))
        headers = {"Authorization": f"Bearer {text}"}
        return lambda client: client.generic(method, path, json.dumps(sent), "application/json", headers=headers)

    def test_the_answer_is_the_same(self, ask: Callable[[Client], Any]) -> None:
        """It has the same status and the same headers with a cookie, which leads through all middleware."""
        with_cookie = Client()
        with_cookie.cookies["a"] = "b"
        answers = [ask(client) for client in (Client(), with_cookie)]
        shown = [{name: of_this(value) for name, value in answer.items()} for answer in answers]
        assert shown[0] == shown[1]
        assert answers[0].status_code == answers[1].status_code

    def test_who_passes_by(self, ann: User, ticket: Ticket, monkeypatch: pytest.MonkeyPatch) -> None:
        """A program with a token has no session; all others may have one."""
        begun = list[str]()
        begin = SessionMiddleware.process_request

        def note(middleware: SessionMiddleware, request: HttpRequest) -> None:
            begun.append(request.path)
            begin(middleware, request)

        monkeypatch.setattr(SessionMiddleware, "process_request", note)
        token, path = {"Authorization": "Bearer a"}, "/api/tickets/ABC-1/"
        for headers, wanted in ((token, path), (token, "/ABC-1/"), ({}, path), ({"Authorization": "Basic a"}, path)):
            Client().get(wanted, headers=headers)
        client = Client()
        client.cookies["a"] = "b"
        client.get(path, headers=token)
        assert begun == ["/ABC-1/", path, path, path]

    @pytest.mark.parametrize("path", ["/api/tickets/ABC-1/", "/api/projects/ABC/tickets/"])
    def test_nothing_is_left(self, ann: User, ticket: Ticket, path: str, monkeypatch: pytest.MonkeyPatch) -> None:
        """A request and its answer are freed when it is sent: they do not wait for the garbage collector."""
        left = list[weakref.ref[Any]]()
        let_go = middleware._let_go

        def note(response: Any) -> None:
            asked = response.renderer_context["request"]
            left.extend(map(weakref.ref, (response, asked, asked._request)))
            let_go(response)

        monkeypatch.setattr(middleware, "_let_go", note)
        headers = {"Authorization": f"Bearer {make_token(ann, name='tests', days=90)[1]}"}
        gc.disable()
        try:
            answer = WSGIHandler()(RequestFactory().get(path, headers=headers).META, Mock())
            answer.close()
            del answer
            assert [each() for each in left] == [None] * 3
        finally:
            gc.enable()

    def test_a_page_below_the_api(self, db: None) -> None:
        """Without a session it leads to the sign-in, whatever the token."""
        answer = Client().get("/api/docs/", headers={"Authorization": "Bearer a"})
        assert (answer.status_code, answer["Location"]) == (302, "/login/?next=/api/docs/")


def of_this(value: str) -> str:
    """The value of a header without what names this request or this ticket."""
    return re.sub(r"[0-9a-f]{32}|[0-9]+-[0-9a-f]{8}|ABC-[0-9]+", "one", value)
