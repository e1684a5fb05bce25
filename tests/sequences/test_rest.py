"""The optional parts for REST, as an application without the sample uses them."""

import json
from datetime import date
from types import SimpleNamespace
from typing import Any

import pytest
from django.contrib.auth.models import AnonymousUser
from django.core.exceptions import NON_FIELD_ERRORS, PermissionDenied, ValidationError
from django.db import connection, transaction
from django.http import Http404
from rest_framework import serializers
from rest_framework.exceptions import APIException, NotAuthenticated
from rest_framework.permissions import AllowAny
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.test import APIRequestFactory, force_authenticate
from rest_framework.views import APIView

from sequences.exceptions import SequenceExhausted
from sequences.rest.answers import ProblemAnswers, exception_handler
from sequences.rest.cursors import signed, unsigned
from sequences.rest.fields import LARGEST_NUMBER, DayField, NumberField
from sequences.rest.idempotency import idempotency_key
from sequences.rest.pages import linked_page
from sequences.rest.problems import PROBLEMS, NumberTooLarge, Problem, Remedy, problem_of
from sequences.rest.views import NextValuesView

REQUESTS = APIRequestFactory()


class OutOfPaperError(Exception):
    """An error of an application."""


class TeapotError(APIException):
    """An error of a status that the table does not have."""

    status_code = 418
    default_code = "teapot"
    default_detail = "It brews tea only."


class FullError(APIException):
    """An error of a class that the table does not have, with a status that it has."""

    status_code = 413


def raised(error: Exception, **headers: str) -> Any:
    """What a view answers that raises this error."""

    class View(APIView):
        authentication_classes = ()
        permission_classes = (AllowAny,)

        def get(self, request: Request) -> Response:
            raise error

        def get_exception_handler(self) -> Any:
            return exception_handler

    return View.as_view()(REQUESTS.get("/here/", headers=headers))


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
            (TeapotError(), 418, "teapot", "It brews tea only."),
            (FullError("At most 1 MB."), 413, "too_large", "At most 1 MB."),
            (ValidationError("It is wrong."), 400, "invalid", "It is wrong."),
            (
                NotAuthenticated(),
                403,
                "not_authenticated",
                "This is for signed-in people and programs only. Sign in, or send a valid token.",
            ),
        ],
    )
    def test_errors_of_the_frameworks_are_problems(self, error: Exception, status: int, code: str, detail: str) -> None:
        """Django's and REST framework's errors have their own words where they have some; others those of a status."""
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

    def test_an_application_adds_rows(self) -> None:
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
        problem = json.loads(response.content)
        assert problem["detail"] == "The tray is empty. Fill it."
        assert (problem["current"], problem["outcome_unknown"]) == ({"sheets": 0}, False)
        assert problem_of(SequenceExhausted(), "here", answers.rows).code == "used_up"

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

    @pytest.mark.parametrize("sent", ["", "x" * 256, "a\x07"])
    def test_another_key_is_refused(self, sent: str) -> None:
        """A key that is empty, too long or not printable is refused by the name of the argument."""
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


class TestNumbers:
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


class TestNextValues:
    def test_values_are_taken_once_for_a_key(self, tables: str) -> None:
        """A repeat has the same values, and says that it is one."""

        class Open(NextValuesView):
            permission_classes = (AllowAny,)

        def take(**headers: str) -> Any:
            content = {"count": 2, "scope": None, "date": None}
            request = REQUESTS.post("/", content, format="json", headers=headers)
            force_authenticate(request, AnonymousUser())
            return Open.as_view()(request, name="orders")

        first, again, other = take(**{"Idempotency-Key": "k"}), take(**{"Idempotency-Key": "k"}), take()
        assert first.data == again.data != other.data
        assert [answer.headers.get("Idempotent-Replayed") for answer in (first, again, other)] == [None, "true", None]

    def test_an_unknown_sequence_is_not_found(self) -> None:
        """A name that is not in the settings is answered with 404, whatever else is sent."""

        class Open(NextValuesView):
            permission_classes = (AllowAny,)

        request = REQUESTS.post("/", {"count": "many"})
        assert Open.as_view()(request, name="cats").status_code == 404
