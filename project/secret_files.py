"""Secrets of a run, in files that only their owner can read."""

import os
import secrets
import tempfile
from pathlib import Path


def stored_secret(path: Path, size: int) -> str:
    """The secret in this file. The first call makes one of `size` random bytes, once for all processes."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.NamedTemporaryFile("w", dir=path.parent, encoding="ascii") as draft:
        draft.write(secrets.token_urlsafe(size))
        draft.flush()
        try:
            os.link(draft.name, path)  # fails if another process was faster: its secret is used
        except FileExistsError:
            pass
    return path.read_text(encoding="ascii").strip()
