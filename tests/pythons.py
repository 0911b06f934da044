"""The quick tests on each Python that is found, as a table. Run: python -m tests.pythons [3.14 …] [--debian trixie|sid]

A Python is found on PATH or among those of pyenv. As root, `--debian` unpacks a release with debootstrap into build/ and
runs its Python there. One more line runs the tests of the client with httpx2 in the place of httpx.
"""

import argparse
import os
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[1]
BUILD = ROOT / "build/pythons"
VERSIONS = ("3.11", "3.12", "3.13", "3.14")
AS_HTTPX2 = "tests.httpx2_alias"
_VERSION = "import platform; print(platform.python_version())"


def found(version: str) -> Path | None:
    """Return the interpreter of a version."""
    candidates = [shutil.which(f"python{version}")]
    candidates += map(str, sorted(Path.home().glob(f".pyenv/versions/{version}.*/bin/python")))
    for candidate in filter(None, candidates):
        if run([candidate, "-c", "import venv, ensurepip, ssl, sqlite3"]).returncode == 0:
            return Path(candidate)
    return None


def run(command: list[str], **how: object) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(command, capture_output=True, text=True, check=False, cwd=ROOT, **how)  # type: ignore[call-overload]


def environment(python: Path, version: str) -> Path:
    """Return the interpreter of an environment with the pinned packages and this checkout."""
    folder = BUILD / version
    inside = folder / "bin/python"
    if not (folder / "ready").exists():
        for command in (
            [str(python), "-m", "venv", "--clear", str(folder)],
            [str(inside), "-m", "pip", "install", "-q", "--no-deps", "-r", "requirements/dev.txt"],
            [str(inside), "-m", "pip", "install", "-q", "--no-deps", "--no-build-isolation", "-e", "."],
        ):
            done = run(command)
            if done.returncode:
                raise SystemExit(f"{version}: {' '.join(command)}\n{done.stderr[-2000:]}")
        (folder / "ready").touch()
    return inside


def tested(python: list[str], words: list[str], **how: object) -> tuple[str, str]:
    """Return the exact version of a Python, and the last line of pytest."""
    exact = run([*python, "-c", _VERSION], **how).stdout.strip()
    plain = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST_")}
    done = run([*python, "-m", "pytest", "-q", "-p", "no:cacheprovider", *words], env=plain, **how)
    lines = re.findall(r"^\d+ (?:passed|failed).*$", done.stdout, re.MULTILINE)
    failed = re.findall(r"^(?:FAILED|ERROR) \S+", done.stdout, re.MULTILINE)
    sys.stderr.write("".join(f"{exact}: {line}\n" for line in failed))
    return exact, lines[-1] if lines else f"pytest ended with {done.returncode}: {done.stderr[-300:]}"


def debian(release: str) -> Iterator[tuple[str, str, str]]:
    """Unpack a release of Debian, and run the tests with its Python."""
    folder = BUILD / release
    if not (folder / "ready").exists():
        packages = "python3,python3-venv,ca-certificates,git"
        done = run(["debootstrap", "--variant=minbase", f"--include={packages}", release, str(folder)])
        if done.returncode:
            raise SystemExit(f"debootstrap {release}: {done.stdout[-1000:]}{done.stderr[-1000:]}")
        (folder / "ready").touch()
    checkout = folder / "work"
    shutil.rmtree(checkout, ignore_errors=True)
    run(["git", "clone", "-q", str(ROOT), str(checkout)])
    shutil.copy(
        os.environ.get("SSL_CERT_FILE", "/etc/ssl/certs/ca-certificates.crt"),
        folder / "etc/ssl/certs/ca-certificates.crt",
    )
    shutil.copy("/etc/resolv.conf", folder / "etc/resolv.conf")
    inside = ["chroot", str(folder), "/bin/sh", "-c"]
    commands = (
        "test -e /env/ready || (python3 -m venv /env && cd /work && /env/bin/pip install -q --no-deps -r requirements/dev.txt"
        " && /env/bin/pip install -q --no-deps --no-build-isolation -e . && touch /env/ready)"
    )
    done = run([*inside, commands])
    if done.returncode:
        raise SystemExit(f"{release}: {done.stderr[-2000:]}")
    version = run([*inside, f"/env/bin/python -c '{_VERSION}'"]).stdout.strip()
    done = run(
        [*inside, "mount -t proc proc /proc 2>/dev/null; cd /work && /env/bin/python -m pytest -q -p no:cacheprovider"]
    )
    lines = re.findall(r"^\d+ (?:passed|failed).*$", done.stdout, re.MULTILINE)
    sys.stderr.write("\n".join(re.findall(r"^(?:FAILED|ERROR) .*", done.stdout, re.MULTILINE)) + "\n")
    yield version, f"Debian {release}", lines[-1] if lines else done.stdout[-300:]


def rows(versions: list[str], releases: list[str], words: list[str]) -> Iterator[tuple[str, str, str]]:
    """Yield version, what was run, and its result."""
    for version in versions:
        python = found(version)
        if python is None:
            yield version, "quick tests", "not found"
            continue
        inside = environment(python, version)
        exact, result = tested([str(inside)], words)
        yield exact, "quick tests", result
    for release in releases:
        yield from debian(release)
    exact, result = tested([sys.executable], ["-n", "0", "-p", AS_HTTPX2, "tests/client"])
    yield exact, "tests of the client with httpx2 as httpx", result


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser()
    parser.add_argument("versions", nargs="*", default=VERSIONS)
    parser.add_argument("--debian", action="append", default=[], metavar="RELEASE")
    parser.add_argument("--only", action="append", default=[], metavar="FILE", help="of the tests")
    asked = parser.parse_args()
    print("| Python | What | Result |\n|---|---|---|")
    for row in rows(list(asked.versions), asked.debian, asked.only):
        print("| " + " | ".join(row) + " |", flush=True)


if __name__ == "__main__":
    began = time.monotonic()
    main()
    sys.stderr.write(f"{time.monotonic() - began:.0f} s\n")
