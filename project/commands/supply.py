"""`make supply`: what the image is made of: its list of parts (SBOM), and whether advisories are about them.

    make supply                 both, for the locked packages
    make supply ARGS=--lock     lock them anew first, each in its newest version that requirements.txt allows

It ends with 1 if an advisory is about a package, and with 3 if the service of advisories cannot be asked about each.
"""

import json
import subprocess
import sys
from collections.abc import Sequence
from typing import Any

from project.paths import LOCAL, ROOT

LOCK = ROOT / "deploy" / "requirements.lock"
PARTS = LOCAL / "sbom.json"
PYTHON = "3.13"
"""The Python of the image, for which packages are locked."""
FOUND, NOT_ASKED = 1, 3
"""The exit codes."""


def main(arguments: Sequence[str]) -> int:
    """Lock if asked for, write the parts, and audit. Returns the exit code."""
    if "--lock" in arguments:
        lock()
    run("cyclonedx_py", "requirements", str(LOCK), "--output-reproducible", "--output-file", str(PARTS))
    print(f"The parts of the image are in {PARTS.relative_to(ROOT)}.")
    audit = ["pip_audit", "--requirement", str(LOCK), "--require-hashes", "--disable-pip"]
    done = run(*audit, "--format", "json", "--progress-spinner", "off", check=False)
    said, code = judged(done.stdout, done.stderr)
    print("\n".join(said))
    return code


def application() -> str:
    """What the application needs: the first paragraph of requirements.txt."""
    return (ROOT / "requirements.txt").read_text(encoding="utf-8").partition("\n\n")[0]


def lock() -> None:
    """Write the lock: every package with the hashes of its wheels, for Linux on each processor. Asks the index."""
    options = ["--python-version", PYTHON, "--python-platform", "linux", "--only-binary", ":all:", "--upgrade"]
    named = ["--custom-compile-command", "make supply ARGS=--lock", "--no-annotate", "--quiet"]
    run(
        "uv",
        "pip",
        "compile",
        "-",
        *options,
        *named,
        "--generate-hashes",
        "--output-file",
        str(LOCK),
        given=application(),
    )


def judged(answer: str, trouble: str) -> tuple[list[str], int]:
    """What the audit says, in lines, and the exit code. A package that the service does not know is not judged."""
    try:
        packages: list[dict[str, Any]] = json.loads(answer)["dependencies"]
    except ValueError:
        reason = trouble.strip().rpartition("\n")[2] or "it said nothing"
        return [f"error: the service of advisories cannot be asked: {reason}"], NOT_ASKED
    found = [f"{one['name']} {one['version']}: {each['id']}" for one in packages for each in one.get("vulns", ())]
    unknown = [one["name"] for one in packages if "skip_reason" in one]
    if found:
        return found, FOUND
    if unknown:
        asked = f"error: the service of advisories could not be asked about {len(unknown)} of {len(packages)} packages"
        return [f"{asked}, such as {unknown[0]}."], NOT_ASKED
    return [f"No advisory is about any of the {len(packages)} packages."], 0


def run(*command: str, check: bool = True, given: str | None = None) -> subprocess.CompletedProcess[str]:
    """Run a module of Python, and give it a text to read. Its errors are shown where it must succeed."""
    shown = None if check else subprocess.PIPE
    return subprocess.run(
        [sys.executable, "-m", *command], check=check, input=given, stdout=subprocess.PIPE, stderr=shown, text=True
    )


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
