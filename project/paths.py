"""Where things lie. What is installed, made up or stored stands in the folder ``.local``."""

from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
LOCAL = ROOT / ".local"
VENV = LOCAL / "venv"
ENGINE = LOCAL / "engine"
ENGINE_DATA = LOCAL / "data" / "engine.db"
ENGINE_ENDPOINT = ENGINE / "endpoint"
"""Where a run writes the address of its engine, and the folder's other commands find it."""
