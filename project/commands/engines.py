"""Which engine a command runs on, as the variable ENGINE says: dynoxide, DynamoDB Local or moto.

It needs only the standard library, as `bootstrap` does.
"""

import base64
import hashlib
import os
import shutil
import subprocess
import tarfile
from pathlib import Path

from project.paths import LOCAL, ROOT

__all__ = ["ENGINES", "EngineMissing", "choose_engine"]

ENGINES = ("dynoxide", "dynamodb-local", "moto")
# Carries DynamoDB Local 1.25.1 with its licence. npm fetches this one archive, without what the package depends on.
PACKAGE = "amplify-dynamodb-simulator@2.9.30"
SHA_512 = "xTeeRLvzEfqyd5lh3bH4c0kHvSHHmmhD5ZDsHFKAQ5g2Zl6JqlFdutaQhCLHzxEp6Ry1o7TB6niIoXuQAnSewQ=="
PROGRAM = ROOT / "project" / "commands" / "dynamodb-local"
IN_ARCHIVE = "package/emulator/"


class EngineMissing(Exception):
    """The engine cannot be used here. The message is one line with the remedy."""


def choose_engine(name: str) -> None:
    """Let this process and those that it starts use an engine; DynamoDB Local is installed first. Raises EngineMissing.

    Where no name is given it is dynoxide, or moto where that is not installed.
    """
    if name not in ("", *ENGINES):
        raise EngineMissing(f"ENGINE is {name!r}: it must be one of {', '.join(ENGINES)}.")
    if name == "dynamodb-local":
        os.environ["DYNOXIDE"] = str(install_dynamodb_local(LOCAL / "dynamodb-local"))
    elif name == "moto":
        os.environ["DYNOXIDE"] = "moto"


def install_dynamodb_local(folder: Path) -> Path:
    """Install DynamoDB Local unless it is there, and return its program. Raises EngineMissing."""
    if shutil.which("java") is None:
        raise EngineMissing("DynamoDB Local needs Java 17. Install it: apt-get install default-jre-headless")
    program = folder / PROGRAM.name
    if not (folder / "DynamoDBLocal.jar").exists():
        print("Installing DynamoDB Local ...", flush=True)
        folder.mkdir(parents=True, exist_ok=True)
        _unpack(_fetched(folder), folder)
    shutil.copy2(PROGRAM, program)
    return program


def _fetched(folder: Path) -> Path:
    """The archive of the package, as it is known."""
    npm = ["npm", "pack", PACKAGE, "--silent", "--pack-destination", str(folder)]
    try:
        name = subprocess.run(npm, check=True, capture_output=True, text=True).stdout.split()[-1]
    except (OSError, subprocess.CalledProcessError, IndexError) as error:
        raise EngineMissing(f"npm could not fetch {PACKAGE}. Install npm, check the network, and run again.") from error
    archive = folder / name
    if base64.b64encode(hashlib.sha512(archive.read_bytes()).digest()).decode() != SHA_512:
        archive.unlink()
        raise EngineMissing(f"npm fetched another {PACKAGE} than is known. Nothing was installed.")
    return archive


def _unpack(archive: Path, folder: Path) -> None:
    """The engine's files, the jar last: where it is, all of them are."""
    with tarfile.open(archive) as files:
        files.extraction_filter = getattr(tarfile, "data_filter", None)  # which Python 3.11.2 has not
        wanted = [one for one in files.getmembers() if one.isfile() and one.name.startswith(IN_ARCHIVE)]
        for one in sorted(wanted, key=lambda one: one.name.endswith("/DynamoDBLocal.jar")):
            one.name = one.name.removeprefix(IN_ARCHIVE)
            files.extract(one, folder)
    archive.unlink()
