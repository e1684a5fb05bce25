"""The paths of the project. Everything installed, generated or stored is in the folder `.local`."""

from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
LOCAL = ROOT / ".local"
VENV = LOCAL / "venv"
ENGINE = LOCAL / "engine"
DEMO_PASSWORD = LOCAL / "demo_password"
ENGINE_DATA = LOCAL / "data" / "engine.db"
ENGINE_ENDPOINT = ENGINE / "endpoint"
"""The file with the address of the running engine. `make run` writes it, and other commands read it."""
