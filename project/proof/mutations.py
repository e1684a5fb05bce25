"""Changes to a module that a test should notice: found in its syntax tree, and made in its text.

Some parts are left alone, because tests need not notice a change: docstrings, type hints, imports, decorators, asserts
and `strict=True` (they hold anyway), `@overload`, blocks under `if TYPE_CHECKING`, and what is only for people: the
text of log lines, the messages of exceptions, what an argument of PROSE says, whether a field is in a `repr`, and
sentences (no key, unit, number or command is one). Nor need they notice whether the moment at which a time is over
belongs to it.
"""

import ast
import hashlib
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate, chain, pairwise, zip_longest

OPPOSITES = {
    "==": "!=", "<": "<=", ">": ">=", "is": "is not", "in": "not in", "and": "or", "+": "-", "+=": "-=", "min": "max",
    "AND": "OR", "<>": "=", "attribute_exists": "attribute_not_exists",
}  # fmt: skip
OPPOSITES |= {new: old for old, new in OPPOSITES.items()}
OPERATOR = re.compile(rb"\b(?:is\s+not|not\s+in|is|in|and|or)\b|[=!<>]=|[<>]|[+-]=?")
# A string is an expression of DynamoDB if it names attributes or values, like "#last_value <= :room AND ...".
EXPRESSION = re.compile(rb"[#:][\w{]")
CLAUSE = re.compile(rb"\bAND\b|\bOR\b|attribute_(?:not_)?exists|<>|<=|>=|(?<= )[<>+](?= )")
# Words for people: a text that begins and ends like a sentence, or that is at least five plain words.
SENTENCE = re.compile(r"[A-Z{].* .* .*[.?!]", re.DOTALL)
WORDS = re.compile(r"(?=.*[a-z]+ .*[a-z]+ .*[a-z]+)(?:(?:[A-Za-z'-]+|\{\})[,;:]? ){4,}(?:[A-Za-z'-]+|\{\})")
# Two readings of a clock, or a reading and a limit, are never the same: "<" and "<=" say the same of them.
CLOCK = re.compile(r"\b(?:monotonic|perf_counter|wall|time\.time)\(\)")
PROSE = {"advice", "detail", "help_text", "hint", "title"}

Name = tuple[str, str, str, str]
"""The name of a mutation: its file, the function or class around it, and its line before and after."""
Change = tuple[str, int, int, str]
"""The kind of a change, its start and end in bytes, and the new text."""


@dataclass(frozen=True)
class Mutation:
    """One change of one file: `text` replaces the bytes from `start` to `end`, in line `number`."""

    name: Name
    kind: str
    start: int
    end: int
    text: str
    number: int

    @property
    def file(self) -> str:
        """The module that is changed."""
        return self.name[0]

    def __str__(self) -> str:
        return f"{self.file}:{self.number} ({self.name[1] or 'module'}) {self.kind}"

    def apply(self, source: bytes) -> bytes:
        """The file with the change. Raises SyntaxError if the result is not a valid program."""
        changed = source[: self.start] + self.text.encode() + source[self.end :]
        compile(changed, self.file, "exec")
        return changed


def find(file: str, source: bytes) -> list[Mutation]:
    """Every mutation of a module, in the order of its syntax tree."""
    lines = source.splitlines(keepends=True)
    starts = [0, *accumulate(map(len, lines))]
    found = []
    for inside, (kind, start, end, text) in _Tree(source, starts).changes():
        index = source.count(b"\n", 0, start)
        changed = lines[index][: start - starts[index]] + text.encode() + source[end : source.find(b"\n", end)]
        line, becomes = (" ".join(text.decode().split()) for text in (lines[index], changed))
        found.append(Mutation((file, inside, line, becomes), kind, start, end, text, index + 1))
    return found


def sample(mutations: Sequence[Mutation], count: int, seed: int) -> list[Mutation]:
    """At most `count` mutations of a module, one of each kind in turn.

    The seed and the names of the mutations decide the order, so an edit of the file changes little of the sample.
    """

    def draw(*words: str) -> bytes:
        return hashlib.sha256(repr((seed, words)).encode()).digest()

    drawn = sorted(mutations, key=lambda mutation: draw(*mutation.name))
    kinds = sorted({(mutation.file, mutation.kind) for mutation in drawn}, key=lambda kind: draw(*kind))
    turns = zip_longest(*([mutation for mutation in drawn if mutation.kind == kind] for _, kind in kinds))
    return [mutation for mutation in chain(*turns) if mutation][:count]


class _Tree:
    """The syntax tree of a module, with the places of its nodes in bytes."""

    def __init__(self, source: bytes, starts: Sequence[int]) -> None:
        self._source = source
        self._starts = starts
        self._root = ast.parse(source)
        imports = (node for node in ast.walk(self._root) if isinstance(node, ast.ImportFrom))
        ours = (node for node in imports if (node.module or "").endswith("exceptions"))
        self._raised = {id(node.exc) for node in ast.walk(self._root) if isinstance(node, ast.Raise)}
        self._spoken = {"TypeVar", *(alias.name for node in ours for alias in node.names)}

    def changes(self, node: ast.AST | None = None, inside: str = "") -> Iterator[tuple[str, Change]]:
        """The changes of a node and of all nodes below it, each with the function or class around it."""
        node = node or self._root
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            inside = f"{inside}.{node.name}".removeprefix(".")
        for change in chain(self._operators(node), self._values(node), self._statements(node), self._branches(node)):
            yield inside, change
        for child in self._children(node):
            yield from self.changes(child, inside)

    def _children(self, node: ast.AST) -> Iterator[ast.AST]:
        """The nodes directly below, except those that are left alone."""
        left_alone = {"annotation", "returns", "decorator_list"}
        if isinstance(node, ast.JoinedStr):
            left_alone.add("values")  # the text is one piece: before Python 3.12 its parts have no places
        elif isinstance(node, ast.Call) and (self._spoken & {path := ast.unparse(node.func)} or path[:7] == "logger."):
            left_alone.add("args")
        for field, value in ast.iter_fields(node):
            if field not in left_alone:
                below = value if isinstance(value, list) else [value]
                if id(node) in self._raised:
                    below = [child for child in below if not _is_text(child)]
                if isinstance(node, ast.Call) and field == "args" and ast.unparse(node.func) == "cast":
                    below = below[1:]  # the first is a type
                yield from (child for child in below if isinstance(child, ast.AST) and not _is_left_alone(child))

    def _start(self, node: ast.expr | ast.stmt) -> int:
        return self._starts[node.lineno - 1] + node.col_offset

    def _end(self, node: ast.expr | ast.stmt) -> int:
        return self._starts[(node.end_lineno or node.lineno) - 1] + (node.end_col_offset or 0)

    def _instead(self, kind: str, node: ast.expr | ast.stmt, text: str) -> Change:
        return kind, self._start(node), self._end(node), text

    def _operators(self, node: ast.AST) -> Iterator[Change]:
        """Each operator between two operands becomes its opposite or a similar one."""
        match node:
            case ast.Compare():
                kind, operands = "comparison", [node.left, *node.comparators]
            case ast.BoolOp():
                kind, operands = "and/or", node.values
            case ast.BinOp(op=ast.Add() | ast.Sub()):
                kind, operands = "+/-", [node.left, node.right]
            case ast.AugAssign(op=ast.Add() | ast.Sub()):
                kind, operands = "+/-", [node.target, node.value]
            case _:
                return
        for left, right in pairwise(operands):
            found = OPERATOR.search(self._source, self._end(left), self._start(right))
            assert found, ast.unparse(node)
            if found[0][:1] not in b"<>" or not any(CLOCK.search(ast.unparse(side)) for side in (left, right)):
                yield kind, found.start(), found.end(), OPPOSITES[" ".join(found[0].decode().split())]

    def _values(self, node: ast.AST) -> Iterator[Change]:
        """A constant becomes another one, `not` is removed, and min and max are swapped."""
        match node:
            case ast.Constant(value=bool(value)):
                yield self._instead("True/False", node, repr(not value))
            case ast.Constant(value=int(number) | float(number)):
                yield self._instead("number", node, repr(number + 1))
            case ast.Constant(value=str() | bytes()) | ast.JoinedStr():
                yield from self._strings(node)
            case ast.UnaryOp(op=ast.Not()):
                yield "not", self._start(node), self._start(node) + len("not"), ""
            case ast.Call(func=ast.Name(id="min" | "max" as name)):
                yield self._instead("min/max", node.func, OPPOSITES[name])

    def _strings(self, node: ast.expr) -> Iterator[Change]:
        start, end = self._start(node), self._end(node)
        text = self._source[start:end]
        for found in CLAUSE.finditer(text) if EXPRESSION.search(text) else ():
            yield "condition text", start + found.start(), start + found.end(), OPPOSITES[found[0].decode()]
        is_bytes = isinstance(node, ast.Constant) and isinstance(node.value, bytes)
        if not _is_for_people(node):
            yield "string", end, end, ' b"~"' if is_bytes else ' "~"'

    def _statements(self, node: ast.AST) -> Iterator[Change]:
        """A statement is removed, or a function returns None, but not in place of False: callers ask for its truth."""
        match node:
            case ast.Return(value=ast.expr() as value) if ast.unparse(value) not in {"None", "False"}:
                yield self._instead("return None", value, "None")
            case ast.Raise():
                yield self._instead("deleted raise", node, "pass")
            case ast.Expr(value=ast.Call()) | ast.Delete() | ast.Return(value=None) | ast.Continue() | ast.Break():
                yield self._instead("deleted statement", node, "pass")
            case ast.Assign() | ast.AnnAssign() | ast.AugAssign() if node.value and _is_kept(node):
                yield self._instead("deleted statement", node, "pass")
            case ast.With(items=items) if not any(item.optional_vars for item in items):
                start, last = self._start(node), self._end(items[-1].context_expr)
                kind = "deleted lock" if b"lock" in self._source[start:last] else "deleted with"
                yield kind, start, self._source.index(b":", last), "if True"

    def _branches(self, node: ast.AST) -> Iterator[Change]:
        """A condition is always true, or always false. A loop's is only always false: otherwise it would not end."""
        outcomes = ("False",) if isinstance(node, ast.While) else ("True", "False")
        conditions = [node.test] if isinstance(node, ast.If | ast.IfExp | ast.While) else getattr(node, "ifs", [])
        for condition in conditions:
            if not isinstance(condition, ast.Constant):
                yield from (self._instead(f"if {outcome}", condition, outcome) for outcome in outcomes)


def _is_left_alone(node: ast.AST) -> bool:
    match node:
        case ast.Import() | ast.ImportFrom() | ast.Assert() | ast.Expr(value=ast.Constant()):
            return True
        case ast.keyword(arg="strict" | "repr") | ast.FunctionDef(decorator_list=[ast.Name(id="overload")]):
            return True
        case ast.keyword(arg=name, value=ast.Constant(value=str())) if name in PROSE:
            return True
        case ast.Assign(targets=[ast.Name(id="__all__" | "__version__")]) | ast.If(test=ast.Name(id="TYPE_CHECKING")):
            return True
    return False


def _is_text(node: object) -> bool:
    return isinstance(node, ast.JoinedStr) or (isinstance(node, ast.Constant) and isinstance(node.value, str))


def _is_for_people(node: ast.expr) -> bool:
    """Whether a text is a sentence, or words as in one."""
    parts = node.values if isinstance(node, ast.JoinedStr) else [node]
    said = "".join(str(part.value) if isinstance(part, ast.Constant) else "{}" for part in parts)
    return bool(SENTENCE.fullmatch(said) or WORDS.fullmatch(said))


def _is_kept(node: ast.Assign | ast.AnnAssign | ast.AugAssign) -> bool:
    """Whether all targets are attributes or items: without its assignment a plain name would not exist."""
    targets = node.targets if isinstance(node, ast.Assign) else [node.target]
    flat = chain(*(target.elts if isinstance(target, ast.Tuple) else [target] for target in targets))
    return all(isinstance(target, ast.Attribute | ast.Subscript) for target in flat)
