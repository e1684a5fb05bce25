"""The optional parts for REST, as an application without the sample uses them."""

import json
import logging
from datetime import date
from types import SimpleNamespace
from typing import Any

import pytest
from django.contrib.auth.models import AnonymousUser
from django.core.exceptions import NON_FIELD_ERRORS, PermissionDenied, RequestDataTooBig, ValidationError
from django.db import connection, transaction
from django.http import Http404
from pytest_django import Settings
from rest_framework import serializers
from rest_framework.exceptions import APIException, NotAuthenticated, Throttled
from rest_framework.parsers import JSONParser
from rest_framework.permissions import AllowAny
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.test import APIRequestFactory, force_authenticate
from rest_framework.views import APIView

from sequences.exceptions import DateRefused, InvalidToken, OutcomeUnknown, SequenceExhausted
from sequences.rest.answers import ProblemAnswers, exception_handler
from sequences.rest.cursors import signed, unsigned
from sequences.rest.fields import LARGEST_NUMBER, DayField, NumberField, TextField
from sequences.rest.idempotency import idempotency_key
from sequences.rest.pages import linked_page
from sequences.rest.problems import PROBLEMS, NumberTooLarge, Problem, Remedy, problem_of
from sequences.rest.request_ids import RequestIds
from sequences.rest.views import NextValues, NextValuesView

REQUESTS = APIRequestFactory()


class OutOfPaperError(Exception):
    """An error of an application."""


class OwnError(APIException):
    """An error of an application, with a code of its own."""

    def __init__(self, status: int, code: str, detail: str) -> None:
        self.status_code, self.default_code = status, code
        super().__init__(detail)


class AwayError(APIException):
    """An error of a view, of a class that the table does not have."""

    status_code = 503


class FullError(APIException):
    """An error of a class that the table does not have, with a status that it has."""

    status_code = 413


class View(APIView):
    """A view for everybody, with the answers of an application that configures nothing."""

    authentication_classes = ()
    permission_classes = (AllowAny,)
    parser_classes = (JSONParser,)

    def get_exception_handler(self) -> Any:
        return exception_handler


def raised(error: Exception, **headers: str) -> Any:
    """What a view answers that raises this error."""

    class Raising(View):
        def get(self, request: Request) -> Response:
            raise error

    return Raising.as_view()(REQUESTS.get("/here/", headers=headers))


def message(text: str, *path: object) -> ValidationError:
    """A message of Django's about a place within its field."""
    error = ValidationError(text)
    error.path = path  # type: ignore[attr-defined]
    return error


class TestAnswers:
    def test_an_error_of_sequences_is_a_problem(self) -> None:
        """Without any configuration, an error of the core has the members of the standard, and ours."""
        response = raised(SequenceExhausted("secret"))
        assert response["Content-Type"] == "application/problem+json"
        assert json.loads(response.content) == {
            "type": "about:blank",
            "title": "Used up",
            "status": 409,
            "detail": "All numbers of this sequence are used up. Nothing was changed. "
            "Tell an administrator: the reason is in the log.",
            "code": "used_up",
            "instance": "/here/",
        }

    @pytest.mark.parametrize(
        ("error", "status", "code", "detail"),
        [
            (Http404("There is no cat."), 404, "not_found", "There is no cat."),
            (Http404(), 404, "not_found", "There is nothing at this address."),
            (PermissionDenied("Only for cats."), 403, "permission_denied", "Only for cats."),
            (OwnError(418, "teapot", "It brews tea only."), 418, "teapot", "It brews tea only."),
            (OwnError(418, "teapot", ""), 418, "teapot", "I'm a Teapot."),
            (OwnError(400, "expired", "The coupon has expired."), 400, "expired", "The coupon has expired."),
            (OwnError(422, "declined", "The card was declined."), 422, "declined", "The card was declined."),
            (AwayError("Payments are down."), 503, "error", "Payments are down."),
            (FullError("At most 1 MB."), 413, "too_large", "At most 1 MB."),
            (RequestDataTooBig(), 413, "too_large", "This is too large: at most 1,234,567 bytes can be sent at once."),
            (ValidationError("It is wrong."), 400, "invalid", "It is wrong."),
            (ValidationError(["It is wrong.", "It is late."]), 400, "invalid", "It is wrong. It is late."),
            (
                NotAuthenticated(),
                403,
                "not_authenticated",
                "This is for signed-in people and programs only. Sign in, or send a valid token.",
            ),
        ],
    )
    def test_errors_of_the_frameworks_are_problems(
        self, error: Exception, status: int, code: str, detail: str, settings: Settings
    ) -> None:
        """Django's and REST framework's errors have their own words where they have some; others those of a status."""
        settings.DATA_UPLOAD_MAX_MEMORY_SIZE = 1_234_567
        response = raised(error)
        problem = json.loads(response.content)
        assert problem["code"] == code
        assert response.status_code == status
        assert (problem["status"], problem["detail"]) == (status, detail)

    def test_a_fault_is_left_to_django(self) -> None:
        """An error that nobody knows is raised on, so that it is logged with its trace."""
        with pytest.raises(OutOfPaperError):
            raised(OutOfPaperError())

    def test_what_a_refused_request_wrote_is_undone(self, db: None, monkeypatch: pytest.MonkeyPatch) -> None:
        """Where each request is a transaction of Django's database, an error rolls it back, though it is answered."""
        monkeypatch.setitem(connection.settings_dict, "ATOMIC_REQUESTS", True)
        with transaction.atomic():
            raised(SequenceExhausted("secret"))
            assert transaction.get_rollback()

    def test_a_caller_is_asked_for_credentials(self) -> None:
        """The header that REST framework has found for an error of authentication is in the answer."""
        error, context = NotAuthenticated(), {"request": Request(REQUESTS.get("/here/"))}
        for wanted in (None, "Token"):
            error.auth_header = wanted  # type: ignore[attr-defined]
            response = exception_handler(error, context)
            assert response is not None
            assert response.headers.get("WWW-Authenticate") == wanted

    def test_an_application_adds_rows(self, caplog: pytest.LogCaptureFixture) -> None:
        """A row of an application's own gives its error a meaning; the other errors keep theirs."""
        row = Problem(
            status=503,
            code="out_of_paper",
            title="No paper",
            detail="The tray is empty.",
            remedy=Remedy.REPEAT,
            retry_after=9,
        )
        answers = ProblemAnswers(
            rows={**PROBLEMS, OutOfPaperError: row},
            remedies={Remedy.REPEAT: "Fill it."},
            as_json=lambda current: {"sheets": current},
        )
        error = OutOfPaperError()
        error.current = 0  # type: ignore[attr-defined]
        response = answers(error, {"request": Request(REQUESTS.get("/print/"))})
        assert response is not None
        assert response["Retry-After"] == "9"
        assert "/print/ could not be served" in caplog.text
        problem = json.loads(response.content)
        assert problem["detail"] == "The tray is empty. Fill it."
        assert (problem["current"], problem["outcome_unknown"]) == ({"sheets": 0}, False)
        assert problem_of(SequenceExhausted(), "here", answers.rows).code == "used_up"

    @pytest.mark.parametrize(
        ("method", "error", "places"),
        [
            ("get", ValidationError("x"), [{"pointer": ""}]),
            ("get", ValidationError({"limit": "x"}), [{"parameter": "limit"}]),
            ("post", ValidationError({"limit": "x", NON_FIELD_ERRORS: "x"}), [{"pointer": "/limit"}, {"pointer": ""}]),
            ("post", ValidationError({"labels": message("x", 2, "a/b~c")}), [{"pointer": "/labels/2/a~1b~0c"}]),
            ("post", ValidationError({"idempotency_token": "x"}), [{"header": "Idempotency-Key"}]),
            ("post", InvalidToken("x"), [{"header": "Idempotency-Key"}]),
            ("post", DateRefused("x"), [{"pointer": "/date"}]),
            ("post", serializers.ValidationError("x"), [{"pointer": ""}]),
            ("post", serializers.ValidationError({"non_field_errors": ["x"]}), [{"pointer": ""}]),
            ("post", serializers.ValidationError({"idempotency_token": "x"}), [{"pointer": "/idempotency_token"}]),
            ("post", serializers.ValidationError({"a": ["x", "x"]}), [{"pointer": "/a"}, {"pointer": "/a"}]),
            ("post", serializers.ValidationError([{}, {"a": {"b": ["x"]}}]), [{"pointer": "/1/a/b"}]),
            ("post", SequenceExhausted("x"), None),
        ],
    )
    def test_where_something_is_wrong(self, method: str, error: Exception, places: list[dict[str, str]] | None) -> None:
        """Each message says where it belongs: in the body, in the address of a read, or in a header."""
        request = Request(REQUESTS.generic(method, "/here/"))
        body = exception_handler.body(request, problem_of(error, "here"))
        assert body.get("errors") == (None if places is None else [{**place, "detail": "x"} for place in places])

    def test_a_place_within_an_argument(self) -> None:
        """Where an argument is found elsewhere in a request, what is wrong within it is found there."""
        answers = ProblemAnswers(places={"item": {"pointer": "/data"}})
        problem = problem_of(ValidationError({"item": message("x", "title")}), "here")
        body = answers.body(Request(REQUESTS.post("/here/")), problem)
        assert body["errors"] == [{"pointer": "/data/title", "detail": "x"}]

    @pytest.mark.parametrize(
        ("content", "detail"),
        [
            (b'{"a":\n b}', "The body is not JSON: Expecting value in line 2, column 2."),
            (b'{"a": "\xff"}', "The body is not UTF-8: byte 8 cannot be read."),
            (b"[1" + 5000 * b"0" + b"]", "The body has a number with too many digits."),
            (b"[NaN]", "The body has a number that is none in JSON, such as NaN."),
            (100_000 * b"[", "The body is nested too deeply."),
        ],
        ids=["no JSON", "no UTF-8", "digits", "NaN", "nested"],
    )
    def test_a_body_that_cannot_be_read(self, content: bytes, detail: str) -> None:
        """What is wrong with a body is said in words for its sender."""

        class Reading(View):
            def post(self, request: Request) -> Response:
                return Response(request.data)

        response = Reading.as_view()(REQUESTS.post("/", content, content_type="application/json"))
        problem = json.loads(response.content)
        assert (response.status_code, problem["code"], problem["detail"]) == (400, "malformed", detail)

    def test_words_of_a_view_are_kept(self) -> None:
        """An error that a view has made of one of Python's keeps its own words."""
        error = ValidationError("This is no colour.")
        error.__context__ = ValueError("not in the list")
        assert json.loads(raised(error).content)["detail"] == "This is no colour."

    @pytest.mark.parametrize(("host", "begins"), [("testserver", "http://testserver/"), ("cats.example", "/")])
    def test_a_code_has_an_address(self, host: str, begins: str) -> None:
        """Where a page explains the codes, `type` leads to it; for a host that the site does not have, without it."""
        request = Request(REQUESTS.get("/here/", headers={"Host": host}))
        body = ProblemAnswers(page="problems").body(request, PROBLEMS[Http404])
        assert body["type"] == f"{begins}problems/#not_found"

    def test_an_answer_has_the_id_of_its_request(self) -> None:
        """What the middleware calls the request is in the answer, too."""
        serve = RequestIds(lambda request: raised(SequenceExhausted("secret")))
        response = serve(REQUESTS.get("/here/", headers={"X-Request-Id": "r-1"}))
        assert json.loads(response.content)["request_id"] == response["X-Request-Id"] == "r-1"

    def test_whether_it_was_carried_out(self) -> None:
        """Every answer from status 500 on says whether the request may have been carried out; others, if it may."""
        request = Request(REQUESTS.get("/here/"))
        told = [
            ProblemAnswers().body(request, problem).get("outcome_unknown")
            for problem in (PROBLEMS[Exception], problem_of(OutcomeUnknown("x"), "here"), PROBLEMS[Http404])
        ]
        assert told == [False, True, None]
        assert problem_of(OutOfPaperError(), "here").outcome_unknown

    @pytest.mark.parametrize(("wait", "seconds"), [(1.2, 2), (None, 60)])
    def test_when_to_try_again(self, wait: float | None, seconds: int) -> None:
        """The seconds of an error that has some, as whole ones; else those of its row."""
        assert problem_of(Throttled(wait), "here").retry_after == seconds

    def test_an_error_is_logged_once(self, logged: pytest.LogCaptureFixture) -> None:
        """What its reader cannot help is a line of the log, with fields for programs, unless a line is about it.

        An error that a view raises on purpose is none.
        """
        error = SequenceExhausted("none is left")
        problem_of(error, "/here/")
        (line,) = logged.records
        assert (line.levelno, line.getMessage()) == (logging.ERROR, "/here/ could not be served: none is left")
        told = [vars(line)[field] for field in ("event", "error", "code")]
        assert told == ["request_failed", "SequenceExhausted", "used_up"]
        error.logged = True
        problem_of(error, "/here/")
        assert problem_of(AwayError(), "/here/").status == 503
        assert logged.records == [line]

    def test_a_row_is_an_answer(self) -> None:
        """A row of the table alone has the members that are the same for every request."""
        request = Request(REQUESTS.get("/cats/"))
        assert ProblemAnswers().body(request, PROBLEMS[Http404]) == {
            "type": "about:blank",
            "title": "Not found",
            "status": 404,
            "detail": "There is nothing at this address.",
            "code": "not_found",
            "instance": "/cats/",
        }

    def test_the_path_is_escaped(self) -> None:
        """What a path has beyond the characters of addresses is escaped, so that it is one."""
        request = Request(REQUESTS.get("/c%C3%A4ts/%3F%23%20%25/?x=1"))
        assert ProblemAnswers().body(request, PROBLEMS[Http404])["instance"] == "/c%C3%A4ts/%3F%23%20%25/"

    def test_forms_have_the_messages_of_each_field(self) -> None:
        """A problem has the messages of each wrong field, and those about no field under Django's name for them."""
        error = ValidationError({"title": ["Too long.", "Not printable."], NON_FIELD_ERRORS: "Not both."})
        fields = problem_of(error, "here").fields
        assert fields == {"title": ["Too long.", "Not printable."], NON_FIELD_ERRORS: ["Not both."]}

    def test_what_utf8_cannot_encode_is_escaped(self) -> None:
        """A lone surrogate that somebody sent comes back as an escape of JSON."""
        response = raised(serializers.ValidationError({"a\ud800ä": ["x"]}))
        assert b"\\ud800\xc3\xa4" in response.content


class TestHeaders:
    @pytest.mark.parametrize(("sent", "read"), [("k", "k"), ("ключ", "ключ"), ("\xe4", "ä"), (" ", " "), (None, None)])
    def test_a_key_is_read_as_utf8(self, sent: str | None, read: str | None) -> None:
        """A key is what its sender typed, though WSGI gives its bytes as Latin-1; other bytes are read as Latin-1."""
        encoded = sent.encode().decode("latin-1") if sent and not sent.isascii() and sent != "\xe4" else sent
        headers = {} if encoded is None else {"HTTP_IDEMPOTENCY_KEY": encoded}
        assert idempotency_key(REQUESTS.post("/", **headers)) == read

    @pytest.mark.parametrize("sent", ["x", "x" * 255])
    def test_a_key_may_have_255_characters(self, sent: str) -> None:
        """A key of 1 to 255 characters is taken."""
        assert idempotency_key(REQUESTS.post("/", headers={"Idempotency-Key": sent})) == sent

    @pytest.mark.parametrize("sent", ["", "x" * 256, "a\x07", "a,b"])
    def test_another_key_is_refused(self, sent: str) -> None:
        """A key that is empty, too long, not printable or two keys is refused by the name of the argument."""
        with pytest.raises(ValidationError) as caught:
            idempotency_key(REQUESTS.post("/", headers={"Idempotency-Key": sent}))
        assert set(caught.value.message_dict) == {"idempotency_token"}


class TestCursors:
    def test_a_cursor_belongs_to_one_list(self) -> None:
        """A position comes back from its cursor, in its list alone; the beginning and the end have none."""
        cursor = signed(42, "cats")
        assert unsigned(cursor, "cats") == 42
        assert (signed(None, "cats"), unsigned(None, "cats")) == (None, None)
        for made_up in (cursor, "42", f"43{(cursor or '')[2:]}", ""):
            with pytest.raises(ValidationError) as caught:
                unsigned(made_up, "dogs")
            assert set(caught.value.message_dict) == {"cursor"}

    def test_a_page_links_those_beside_it(self) -> None:
        """The addresses of the pages beside a page are in its body and in `Link`, with the parameters of this one."""
        request = Request(REQUESTS.get("/cats/?limit=2&cursor=b"))
        page = linked_page(request, [1, 2], next="c", prev="a")
        ahead, back = (f"http://testserver/cats/?cursor={cursor}&limit=2" for cursor in "ca")
        assert page.data == {"results": [1, 2], "next": ahead, "prev": back}
        assert page["Link"] == f'<{ahead}>; rel="next", <{back}>; rel="prev"'

    def test_the_only_page_has_no_link(self) -> None:
        """Without a page beside it there is no `Link`, and null in the body."""
        page = linked_page(Request(REQUESTS.get("/cats/")), [], next=None)
        assert page.data == {"results": [], "next": None}
        assert "Link" not in page


class Counted(serializers.Serializer[Any]):
    """A shape with a number."""

    number = NumberField()


class Titled(serializers.Serializer[Any]):
    """A shape with a text."""

    title = TextField()


class Dated(serializers.Serializer[Any]):
    """A shape with a day."""

    day = DayField()


class TestDays:
    def test_a_day_has_one_form(self) -> None:
        """A day is read from YYYY-MM-DD; the other forms of ISO 8601 are refused."""
        dated = Dated(data={"day": "2026-03-05"})
        assert dated.is_valid()
        assert dated.validated_data == {"day": date(2026, 3, 5)}
        refused = [Dated(data={"day": text}) for text in ("20260305", "2026-W10-4", "2026-3-5", "soon")]
        assert not any(wrong.is_valid() for wrong in refused)
        assert len({str(wrong.errors["day"][0]) for wrong in refused}) == 1


class TestTexts:
    def test_a_text_stays_as_it_was_sent(self) -> None:
        """Spaces around a text stay, and a number is no text."""
        titled, wrong = Titled(data={"title": " a "}), Titled(data={"title": 5})
        assert titled.is_valid()
        assert titled.validated_data == {"title": " a "}
        assert not wrong.is_valid()
        assert [error.code for error in wrong.errors["title"]] == ["invalid"]


class TestNumbers:
    @pytest.mark.parametrize("sent", ["5", True, 5.5])
    def test_a_number_is_as_json_writes_it(self, sent: object) -> None:
        """A text of digits is no number, nor is `true`, or one that is not whole."""
        wrong = Counted(data={"number": sent})
        assert not wrong.is_valid()
        assert [error.code for error in wrong.errors["number"]] == ["invalid"]

    def test_a_whole_number_with_a_point(self) -> None:
        """JSON knows one kind of numbers: 5.0 is 5."""
        counted = Counted(data={"number": 5.0})
        assert counted.is_valid()
        assert counted.validated_data == {"number": 5}

    def test_the_largest_number_is_what_javascript_reads(self) -> None:
        """The largest number is JavaScript's MAX_SAFE_INTEGER."""
        assert LARGEST_NUMBER == 9_007_199_254_740_991

    def test_a_number_that_json_cannot_carry_is_refused(self) -> None:
        """The largest exact number passes both ways; a larger one is refused, in a request and in an answer."""
        for number in (LARGEST_NUMBER, -LARGEST_NUMBER, 0):
            assert Counted(SimpleNamespace(number=number)).data == {"number": number}
        assert Counted(data={"number": LARGEST_NUMBER}).is_valid()
        assert not Counted(data={"number": LARGEST_NUMBER + 1}).is_valid()
        for number in (LARGEST_NUMBER + 1, -LARGEST_NUMBER - 1, 10**30):
            with pytest.raises(NumberTooLarge, match=str(number)):
                _ = Counted(SimpleNamespace(number=number)).data


class Open(NextValuesView):
    """The values of every sequence, for everybody."""

    permission_classes = (AllowAny,)


def ask(content: dict[str, Any], name: str, **headers: str) -> Any:
    """What somebody gets who wants values of a sequence."""
    request = REQUESTS.post("/", content, format="json", headers=headers)
    force_authenticate(request, AnonymousUser())
    return Open.as_view()(request, name=name)


def brew(error: Exception, context: object) -> Response:
    """The exception handler of a project."""
    return Response(status=418)


class TestNextValues:
    def test_values_are_taken_once_for_a_key(self, tables: str) -> None:
        """A repeat has the same values, and says that it is one."""

        def take(**headers: str) -> Any:
            return ask({"count": 2, "scope": None, "date": None}, "orders", **headers)

        first, again, other = take(**{"Idempotency-Key": "k"}), take(**{"Idempotency-Key": "k"}), take()
        assert first.data == again.data != other.data
        assert [answer.headers.get("Idempotent-Replayed") for answer in (first, again, other)] == [None, "true", None]

    def test_an_unknown_sequence_is_not_found(self) -> None:
        """A name that is not in the settings is answered with 404, whatever else is sent."""
        assert ask({"count": "many"}, "cats").status_code == 404

    def test_which_handler_answers(self, settings: Settings) -> None:
        """An error is a problem also where a project names no handler; its own handler stays."""
        settings.SEQUENCES = {"plain": {"STRATEGY": "sequences.strategies.AtomicCounter"}}
        settings.REST_FRAMEWORK = {}
        response = ask({"scope": "#x"}, "plain")
        assert (response.status_code, response["Content-Type"]) == (400, "application/problem+json")
        settings.REST_FRAMEWORK = {"EXCEPTION_HANDLER": f"{__name__}.brew"}
        assert ask({"scope": "#x"}, "plain").status_code == 418

    def test_what_may_be_asked_for(self) -> None:
        """Who names nothing gets one value without a scope; nobody gets none, or more than a thousand."""
        asked = [NextValues(data={"count": count, "scope": None, "date": None}) for count in (0, 1, 1000, 1001)]
        assert [one.is_valid() for one in asked] == [False, True, True, False]
        nothing = NextValues(data={})
        assert nothing.is_valid()
        assert nothing.validated_data == {"count": 1, "scope": None, "date": None}

    @pytest.mark.parametrize(
        ("name", "content", "pointer"),
        [
            ("plain", {"count": 0}, "/count"),
            ("plain", {"date": "2026-03-05"}, "/date"),  # it uses none
            ("plain", {"scope": "#a"}, "/scope"),
            ("yearly", {}, "/date"),
            ("dated", {}, "/date"),
        ],
    )
    def test_what_is_refused(self, name: str, content: dict[str, Any], pointer: str, settings: Settings) -> None:
        """A wrong count, scope or date is named, and so is a date that is missing where numbers depend on it."""
        atomic = {"STRATEGY": "sequences.strategies.AtomicCounter"}
        formats = {"plain": {}, "yearly": {"PERIOD": "year"}, "dated": {"FORMAT": "{year}-{value}"}}
        settings.SEQUENCES = {alias: {**atomic, **more} for alias, more in formats.items()}
        response = ask(content, name)
        assert response.status_code == 400
        assert [error["pointer"] for error in json.loads(response.content)["errors"]] == [pointer]
