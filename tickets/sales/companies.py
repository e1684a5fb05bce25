"""The companies that issue invoices, each in a series of its own: a scope of `invoices` with rules that are data.

The main company has no key: its invoices count by the settings. Later rules of a company, such as the range of another
year, are added in the administration of sequences.
"""

import logging
import re
from typing import Any
from urllib.parse import unquote

from django.core.signing import BadSignature, Signer
from django.urls import resolve, reverse

from sequences.exceptions import InvalidChange
from sequences.registry import strategies
from sequences.series import Line, Lines, create, lines_of, page, preview
from tickets import validators
from tickets.exceptions import CompanyExists, CompanyNotFound, FormatRefused, InvalidInput
from tickets.sales.types import Company
from tickets.sales.validators import COMPANY, OF_COMPANY, today
from tickets.types import PROJECT_KEY, Page, Stored

logger = logging.getLogger(__name__)

INVOICES = "invoices"
PAGE_SIZE = 100
SIGNER = Signer(salt="tickets.cursor.companies")
# The key of a ticket or a project, if numbers are written with any letters and digits.
LIKE_A_KEY = "[A-Za-z][A-Za-z0-9]{1,9}(-[A-Za-z0-9]+)?"


def list_companies(*, cursor: str | None = None, limit: int = PAGE_SIZE) -> Page[Company]:
    """The companies, sorted by their keys, without the main one. One query for each page.

    Other scopes of the sequence are left out: a page may be empty, and the list go on. Raises InvalidInput.
    """
    try:
        found, following = page(INVOICES, cursor and SIGNER.unsign(cursor), limit)
    except BadSignature as error:
        raise InvalidInput({"cursor": "This is not a cursor of this list. Start again without one."}) from error
    ours = [(key, lines) for key, lines in found if key and re.fullmatch(PROJECT_KEY, key) and lines]
    return Page(
        results=tuple(_company(key, lines) for key, lines in ours),
        next_cursor=following and SIGNER.sign(following),
        previous_cursor=None,
    )


def known(company: str) -> str:
    """The key of a company that there is; empty for the main one. Raises InvalidInput and CompanyNotFound.

    One read for one with a key.
    """
    key = str(validators.clean({"company": company}, OF_COMPANY)["company"])
    if key and not lines_of(INVOICES, key):
        raise CompanyNotFound(key)
    return key


def create_company(*, by: str, **content: Any) -> Stored[Company]:
    """Let a company issue invoices, from the number `start` on, in texts of its own FORMAT.

    A repeat with the same content makes nothing, and returns the company. Raises InvalidInput, CompanyExists, and
    FormatRefused for texts that are wrong or could belong to something else. Cost: one read, and two guarded changes,
    one of them dry.
    """
    company = Company(**validators.clean(content, COMPANY))
    if _is_there(company):
        return Stored(value=company, replayed=True)
    try:
        _first_texts(company)
        create(INVOICES, company.key, _line(company), name=company.name, by=by, reason="A new company.")
    except (FormatRefused, InvalidChange):
        if _is_there(company):  # another request was faster
            return Stored(value=company, replayed=True)
        raise
    logger.info("company %s created by %s", company.key, by)
    return Stored(value=company, replayed=False)


def _is_there(company: Company) -> bool:
    """Whether a company was made with these rules. Raises CompanyExists for one with others. One read."""
    lines = lines_of(INVOICES, company.key)
    if lines and (lines.name, lines.lines[0]) != (company.name, _line(company)):
        raise CompanyExists(company.key)
    return bool(lines)


def preview_company(**content: Any) -> list[str]:
    """The texts of the first invoices of a company that is not there yet. Raises what `create_company` raises."""
    company = Company(**validators.clean(content, COMPANY))
    if _is_there(company):
        raise CompanyExists(company.key)
    return _first_texts(company)


def _first_texts(company: Company) -> list[str]:
    """The texts of its first invoices. Raises FormatRefused if they could belong to something else."""
    try:
        texts = preview(INVOICES, company.key, _line(company))
    except InvalidChange as error:
        raise FormatRefused(str(error)) from error
    if re.fullmatch(LIKE_A_KEY, texts[0]):
        raise FormatRefused(f"{texts[0]} could be the key of a ticket or a project: put {{period}} between slashes.")
    if texts[0].isdecimal() and len(texts[0]) <= len("2026"):
        raise FormatRefused(f"{texts[0]} could be a year: put a letter before the number.")
    if not _has_a_page(texts[0]):
        raise FormatRefused(f"{texts[0]} would have the address of another page: let it end with the number.")
    return texts


def _has_a_page(text: str) -> bool:
    """Whether the address of an invoice with this text is its own, also in a browser, which leaves out ".."."""
    page = resolve(unquote(reverse("sales:invoice", args=[text])))
    return page.kwargs == {"text": text} and page.url_name == "invoice" and not {".", ".."} & {*text.split("/")}


def _line(company: Company) -> Line:
    return Line(format=company.format, start=company.start)


def _company(key: str, lines: Lines) -> Company:
    """A company by the line that holds today; what that leaves open is as the settings say."""
    rules = lines.lines[lines.at(today())].config(strategies[INVOICES].config)
    return Company(key=key, name=lines.name or key, format=rules.format or "", start=rules.start)
