"""What a token opens of what its person may do. Sign-in sets it on the person, and `checks` asks for it."""

from dataclasses import dataclass

from tickets import store
from tickets.types import TicketKey, project_of

READS = frozenset({"GET", "HEAD", "OPTIONS"})


@dataclass(frozen=True, slots=True)
class TokenScope:
    """Reads alone or writes, too, and one project, given by any key that it had, or all of the site."""

    read_only: bool = False
    project: str = ""

    def __str__(self) -> str:
        """The scope in words; empty if the token opens all that its person may do."""
        return ", ".join(["read only"] * self.read_only + [f"project {self.project} only"] * bool(self.project))

    @property
    def refusal(self) -> str:
        """What is said to who asks for more."""
        return f"The scope of this token is: {self}. Use a token that opens more."

    def allows(self, method: str | None, key: str | TicketKey | None) -> bool:
        """Whether it opens an address, which is in the project of `key` or in none."""
        if self.read_only and method not in READS:
            return False
        return not self.project or (key is not None and self.covers(key))

    def covers(self, key: str | TicketKey) -> bool:
        """Whether it opens the project of this key. Costs nothing while the renamed projects are remembered.

        One query where it does not: another process may have renamed the project.
        """
        if not self.project or self._is_of(key):
            return True
        store.places.renames.forget()
        return self._is_of(key)

    def _is_of(self, key: str | TicketKey) -> bool:
        partition = store.places.renames.partition
        return partition(project_of(key)) == partition(self.project)


EVERYTHING = TokenScope()
