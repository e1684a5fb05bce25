"""Many who issue at the same moment, and faults of the engine: no invoice twice, and no number missing."""

from collections.abc import Iterator, Sequence
from contextlib import suppress
from datetime import date

import pytest

from sequences.ops.audit import audit
from sequences.ops.audit.report import AuditReport
from sequences.registry import strategies
from sequences.testing.callers import at_once
from sequences.testing.embedded import Engine
from sequences.types import Dated
from tests.sequences.support import Processes, Wire, tapped
from tests.tickets.sales.support import drafted, issued, numbers_of
from tickets.exceptions import ChangeRefused, OrderInvoiced
from tickets.sales import selectors, services
from tickets.sales.types import Order

THREADS = 16
pytestmark = pytest.mark.needs_engine


@pytest.fixture
def wire(tables: str) -> Iterator[Wire]:
    """The requests of this process during the test."""
    with tapped() as wire:
        yield wire


def issue(number: int, *, day: date | None = None, token: str | None = None) -> str:
    """The text of the invoice that this request gets, or that it is told of."""
    try:
        return services.issue_invoice(number, date=day, by="ann", idempotency_token=token).value.key.text
    except OrderInvoiced as refused:
        return f"refused for {refused.current.invoice.text}"


def issue_the_same(number: int) -> list[str]:
    """What four threads get that issue the same draft."""
    return at_once(4, lambda _: issue(number))


def audited(year: int) -> AuditReport:
    """The audit of a year's invoices."""
    return audit(strategies["invoices"], Dated(None, str(year)))


def assert_explained(years: Sequence[int]) -> None:
    """Assert that the audit of each year finds every number, and nothing else."""
    for year in years:
        report = audited(year)
        assert report.unexplained == 0
        assert report.carried == len(numbers_of(year))


@pytest.fixture
def forked(engine: Engine, tables: str) -> Iterator[Processes]:
    """Processes that are forked from this one at their first task."""
    processes = Processes("fork", 4, engine.endpoint, tables)
    yield processes
    processes.stop()


class TestOneDraft:
    def test_many_threads_issue_one_invoice(self, draft: Order, this_year: int) -> None:
        """Of sixteen who issue one draft, one gets its invoice, and the others are told which one it is."""
        answers = at_once(THREADS, lambda _: issue(draft.number))
        text = selectors.list_invoices(this_year).results[0].key.text
        assert sorted(answers) == sorted([text] + [f"refused for {text}"] * (THREADS - 1))
        assert numbers_of(this_year) == [1]
        assert_explained([this_year])

    def test_one_request_that_comes_many_times_gets_one_answer(self, draft: Order, this_year: int) -> None:
        """Sixteen repeats of one request at the same moment get the same invoice."""
        answers = at_once(THREADS, lambda _: issue(draft.number, token="t"))
        assert len(set(answers)) == 1
        assert numbers_of(this_year) == [1]

    def test_many_processes_issue_one_invoice(self, forked: Processes, draft: Order, this_year: int) -> None:
        """It is the same across processes that share nothing but the table."""
        answers = [text for told in forked.run(issue_the_same, draft.number) for text in told]
        text = selectors.list_invoices(this_year).results[0].key.text
        assert sorted(answers) == sorted([text] + [f"refused for {text}"] * (THREADS - 1))
        assert numbers_of(this_year) == [1]

    def test_drafting_and_voiding_meanwhile(self, draft: Order, this_year: int) -> None:
        """While some issue, some void and some draft one order, it never has two invoices in force."""

        def act(index: int) -> None:
            for _ in range(4):
                with suppress(ChangeRefused):
                    if index % 4 == 0:
                        newest = selectors.list_invoices(this_year).results[0]
                        services.void_invoice(newest.key.text, reason="Wrong.", by="bob")
                    elif index % 4 == 1:
                        services.draft_invoice(draft.number, by="bob")
                    else:
                        services.issue_invoice(draft.number, by="ann")

        issue(draft.number)
        at_once(8, act)
        page, order = selectors.list_invoices(this_year), selectors.get_order(draft.number)
        in_force = [invoice.key for invoice in page.results if not invoice.void]
        assert in_force == ([order.invoice] if order.invoice else [])
        assert [one.key.number for one in order.issued] == list(reversed(numbers_of(this_year)))
        assert_explained([this_year])


class TestManyDrafts:
    def test_two_years_count_without_gaps(self, tables: str, this_year: int, last_december: date) -> None:
        """Sixteen drafts, issued at the same moment in two years, get the numbers 1 to 8 of each."""
        numbers = [drafted() for _ in range(THREADS)]
        days = [None, last_december]
        at_once(THREADS, lambda index: issue(numbers[index], day=days[index % 2]))
        for year in (this_year, this_year - 1):
            assert numbers_of(year) == list(range(8, 0, -1))
            page = selectors.list_invoices(year)
            assert (page.is_whole, page.missing) == (True, ())
        assert_explained([this_year, this_year - 1])

    def test_lost_answers_leave_no_gap(self, wire: Wire, this_year: int) -> None:
        """While answers get lost, each draft is issued once."""
        issued()
        numbers = [drafted() for _ in range(THREADS)]
        wire.lose("TransactWriteItems", times=6)
        answers = at_once(THREADS, lambda index: issue(numbers[index]))
        assert sorted(numbers_of(this_year)) == list(range(1, THREADS + 2))
        assert len(set(answers)) == THREADS
        assert [text for text in answers if text.startswith("refused")] == []
        assert_explained([this_year])

    @pytest.mark.parametrize("forgetful", [False, True])
    def test_a_lost_answer_voids_once(self, wire: Wire, this_year: int, *, forgetful: bool) -> None:
        """A void whose answer was lost is this request's own, whoever remembers its request token."""
        text = issued().key.text
        if forgetful:
            wire.forget_request_tokens()
        wire.lose("TransactWriteItems")
        void = services.void_invoice(text, reason="Wrong.", by="bob")
        assert not void.replayed
        assert selectors.get_invoice(text) == void.value
        assert_explained([this_year])

    def test_refused_requests_take_no_number(self, tables: str, this_year: int) -> None:
        """Between those that succeed, a request for an issued draft leaves no gap."""
        taken = drafted()
        issue(taken)
        numbers = [taken if index % 2 else drafted() for index in range(THREADS)]
        at_once(THREADS, lambda index: issue(numbers[index]))
        assert sorted(numbers_of(this_year)) == list(range(1, THREADS // 2 + 2))
        assert_explained([this_year])


def test_the_audit_lists_what_was_voided(tables: str, this_year: int) -> None:
    """For the audit a void invoice is an explained number."""
    texts = [issued().key.text for _ in range(3)]
    services.void_invoice(texts[1], reason="Wrong address.", by="bob")
    report = audited(this_year)
    assert report.unexplained == 0
    assert [(void.value, void.by, void.reason) for void in report.voids.listed] == [(2, "bob", "Wrong address.")]
