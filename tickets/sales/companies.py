"""The companies that issue invoices, each in a series of its own: a scope of `invoices` with rules that are data.

The main company has no key: its invoices count by the settings. What follows the rules that a company is made with,
such as the range of another year, is added in the administration of sequences.
"""

import logging
import re
from typing import Any

from sequences.exceptions import InvalidChange
from sequences.series import Line, Lines, create, lines_of, page, preview
from tickets import addresses, validators
from tickets.exceptions import CompanyExists, CompanyNotFound, FormatRefused
from tickets.sales.types import Company
from tickets.sales.validators import COMPANY, OF_COMPANY, PAGE_OF_COMPANIES, today
from tickets.types import PROJECT_KEY, Page, Stored

logger = logging.getLogger(__name__)

INVOICES = "invoices"
PAGE_SIZE = 100


def list_companies(*, cursor: str | None = None, limit: int = PAGE_SIZE) -> Page[Company]:
    """The companies, sorted by their keys, without the main one. One query for each page."""
    validators.clean({"cursor": cursor} if cursor else {}, PAGE_OF_COMPANIES)
    found, following = page(INVOICES, cursor, limit)
    ours = [(key, lines) for key, lines in found if key and re.fullmatch(PROJECT_KEY, key) and lines]
    return Page(results=tuple(_company(key, lines) for key, lines in ours), next_cursor=following, previous_cursor=None)


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
    FormatRefused for texts that are wrong or could be those of something else. Cost: two guarded changes, one of them
    dry.
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
    """Whether a company was made as it is here. Raises CompanyExists for one that is different now. One read."""
    lines = lines_of(INVOICES, company.key)
    if lines and (lines.name, lines.lines) != (company.name, (_line(company),)):
        raise CompanyExists(company.key)
    return bool(lines)


def preview_company(**content: Any) -> list[str]:
    """The texts of the first invoices of a company that is not there yet. Raises what `create_company` raises."""
    return _first_texts(Company(**validators.clean(content, COMPANY)))


def _first_texts(company: Company) -> list[str]:
    """The texts of its first invoices. Raises FormatRefused if they could be those of something else."""
    try:
        texts = preview(INVOICES, company.key, _line(company))
    except InvalidChange as error:
        raise FormatRefused(str(error)) from error
    if re.fullmatch(addresses.KEY, texts[0]):
        raise FormatRefused(f"{texts[0]} could be the key of a ticket or a project: put {{period}} between slashes.")
    return texts


def _line(company: Company) -> Line:
    return Line(format=company.format, start=company.start)


def _company(key: str, lines: Lines) -> Company:
    """A company by the line that holds today; what that leaves open is as the settings say."""
    line = lines.lines[lines.at(today())]
    return Company(key=key, name=lines.name or key, format=line.format or "", start=line.start or 1)
