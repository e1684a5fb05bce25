"""What the commands that load samples share."""

import json
from pathlib import Path
from typing import Any, ClassVar

from django.core.management.base import BaseCommand, CommandError

from sequences.exceptions import SequenceError

__all__ = ["SampleCommand"]

TICKETS = Path(__file__).resolve().parents[1]


class SampleCommand(BaseCommand):
    """Loads each sample of a file, if there is nothing yet."""

    file: ClassVar[str]
    what: ClassVar[str]

    def there_are_some(self) -> bool:
        """Whether there is something already."""
        raise NotImplementedError

    def load(self, sample: dict[str, Any]) -> None:
        """Load one sample."""
        raise NotImplementedError

    def handle(self, *args: Any, **options: Any) -> None:
        try:
            loaded = 0 if self.there_are_some() else self._load_all()
        except SequenceError as error:
            raise CommandError(str(error)) from error
        if options["verbosity"]:
            done = f"{loaded} {self.what} loaded." if loaded else f"There are {self.what}: nothing to do."
            self.stdout.write(done)

    def _load_all(self) -> int:
        samples = json.loads((TICKETS / self.file).read_text(encoding="utf-8"))
        for sample in samples:
            self.load(sample)
        return len(samples)
