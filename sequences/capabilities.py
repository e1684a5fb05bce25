"""What each strategy can do and costs, as data for the tables in `docs/` and for the admin pages.

The flags and their questions are in `strategies.base`; this module only reads them from the classes.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from sequences import strategies
from sequences.rows.rules import RULES
from sequences.rows.soundness import Verdict
from sequences.strategies.base import COSTS, FLAGS, Strategy

__all__ = [
    "Capability",
    "as_table",
    "capabilities",
    "flags",
    "in_words",
    "options_table",
    "rules_table",
    "strategies_table",
    "strategy_classes",
]


WORDS = {
    "gapless": ("leaves no gaps", "may leave gaps"),
    "supports_reserve": ("hands out numbers before their items", "hands out a number only with its item"),
    "needs_transactions": ("needs transactions", "needs no transactions"),
    "ordered_across_processes": ("later is always higher", "a later number may be lower, from another process"),
    "exactly_once": ("a repeat never uses another number", "a repeat may use another number"),
    "takes_own_keys": ("items may have keys of their own", "the number is the key of its item"),
    "writes_together": ("writes items of many callers together", "writes each item alone"),
}
"""What a yes and a no to each flag means: neither is wrong."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Capability:
    """One question about every strategy class, and the class attribute that answers it: a flag with yes or no."""

    name: str
    question: str
    is_flag: bool

    @property
    def label(self) -> str:
        """The attribute's name for people."""
        return self.name.replace("_", " ").capitalize()

    def answer(self, strategy: type[Strategy]) -> bool | str:
        """The answer of a strategy class: True or False, or a text."""
        said: bool | str = getattr(strategy, self.name)
        return said


def capabilities() -> tuple[Capability, ...]:
    """The questions: first the flags, then the costs."""
    flags = [Capability(name=name, question=question, is_flag=True) for name, question in FLAGS.items()]
    costs = [Capability(name=name, question=question, is_flag=False) for name, question in COSTS.items()]
    return (*flags, *costs)


def flags(strategy: type[Strategy]) -> dict[str, bool]:
    """What a strategy can do: its answers to the yes-or-no questions."""
    return {asked.name: bool(asked.answer(strategy)) for asked in capabilities() if asked.is_flag}


def in_words(strategy: type[Strategy]) -> list[str]:
    """What a strategy does and does not, for people, in the order of its flags."""
    return [WORDS[name][0 if said else 1] for name, said in flags(strategy).items()]


def strategy_classes() -> list[type[Strategy]]:
    """The strategies that come with the app."""
    exported = (getattr(strategies, name) for name in strategies.__all__)
    classes = [name for name in exported if isinstance(name, type) and issubclass(name, Strategy)]
    return [strategy for strategy in classes if strategy is not Strategy]


def strategies_table() -> str:
    """Every capability of every strategy, as a Markdown table."""
    classes = strategy_classes()
    words: dict[bool | str, str] = {True: "yes", False: "no"}
    rows = []
    for capability in capabilities():
        answers = [capability.answer(strategy) for strategy in classes]
        rows.append([capability.question, *(words.get(answer, str(answer)) for answer in answers)])
    return as_table(["", *(f"`{strategy.__name__}`" for strategy in classes)], rows)


def options_table() -> str:
    """Every key of OPTIONS, its default, what it must be, and which strategies have it, as a Markdown table."""
    classes = strategy_classes()
    options = {name: option for strategy in classes for name, option in strategy.options.items()}
    rows = []
    for name, option in options.items():
        having = [strategy.__name__ for strategy in classes if name in strategy.options]
        of = "all" if len(having) == len(classes) else ", ".join(having)
        rows.append([f"`{name}`", f"`{option.default!r}`", option.wanted, of])
    return as_table(["Option", "Default", "Must be", "Strategies"], rows)


def rules_table() -> str:
    """What becomes of each key of a sequence that changes while rows are stored, as a Markdown table."""
    words = {Verdict.UNSOUND: "refused", Verdict.CAREFUL: "told", Verdict.GOOD: "taken"}
    rows = [[f"`{key}`", words[rule.verdict], rule.why] for key, rule in RULES.items()]
    return as_table(["Key", "A change is", "Why"], rows)


def as_table(header: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A Markdown table, of rows that have as many cells as the header."""
    lines = [header, ["---"] * len(header), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)
