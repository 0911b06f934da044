"""Run the quick tests and the demo with each installed Python: `python -m tests.pythons [3.14 …] [--debian trixie|sid]`.

The script searches for Pythons on PATH and in pyenv. As root, `--debian` unpacks a release with debootstrap into build/ and
runs its Python. Another row runs the client's tests with httpx2 instead of httpx. The rows replace earlier rows of the same
Python in tests/install/pythons.md, and build/pythons has the output of pytest.
"""

import argparse
import os
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

ROOT = Path(__file__).parents[1]
BUILD = ROOT / "build/pythons"
VERSIONS = ("3.11", "3.12", "3.13", "3.14")
AS_HTTPX2 = "tests.httpx2_alias"
PAGE = ROOT / "tests/install/pythons.md"
HEAD = "| Python | What | Result | Run on |\n|---|---|---|---|\n"
_VERSION = "import platform; print(platform.python_version())"


def found(version: str) -> Path | None:
    """Return the interpreter of a version, or None if it is not installed."""
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


def tested(name: str, python: list[str], words: list[str]) -> tuple[str, str]:
    """Return the exact version of a Python, the last line of pytest, and the result of the demo."""
    exact = run([*python, "-c", _VERSION]).stdout.strip()
    plain = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST_")}
    done = run([*python, "-m", "pytest", "-q", "--tb=short", "-p", "no:cacheprovider", *words], env=plain)
    (BUILD / f"{name}.log").write_text(done.stdout + done.stderr, encoding="utf-8")
    lines = re.findall(r"^\d+ (?:passed|failed).*$", done.stdout, re.MULTILINE)
    failed = re.findall(r"^(?:FAILED|ERROR) \S+", done.stdout, re.MULTILINE)
    sys.stderr.write("".join(f"{exact}: {line}\n" for line in failed))
    result = lines[-1] if lines else f"pytest ended with {done.returncode}: {done.stderr[-300:]}"
    if AS_HTTPX2 not in words:
        result += f"; the demo ended with {run([*python, 'examples/demo.py'], env=plain).returncode}"
    return exact, result


def debian(release: str, words: list[str]) -> tuple[str, str]:
    """Unpack a release of Debian, and run the tests with its Python."""
    folder = BUILD / release
    if not (folder / "ready").exists():
        packages = "python3,python3-venv,ca-certificates,git,make"
        done = run(["debootstrap", "--variant=minbase", f"--include={packages}", release, str(folder)])
        if done.returncode:
            raise SystemExit(f"debootstrap {release}: {done.stdout[-1000:]}{done.stderr[-1000:]}")
        (folder / "ready").touch()
    checkout = folder / "work"
    shutil.rmtree(checkout, ignore_errors=True)
    run(["git", "clone", "-q", str(ROOT), str(checkout)])
    certificates = os.environ.get("SSL_CERT_FILE", "/etc/ssl/certs/ca-certificates.crt")
    shutil.copy(certificates, folder / "etc/ssl/certs/ca-certificates.crt")
    shutil.copy("/etc/resolv.conf", folder / "etc/resolv.conf")
    inside = ["chroot", str(folder), "/bin/sh", "-c"]
    commands = (
        "test -e /env/ready || (python3 -m venv /env && cd /work && /env/bin/pip install -q --no-deps -r requirements/dev.txt"
        " && /env/bin/pip install -q --no-deps --no-build-isolation -e . && touch /env/ready)"
    )
    done = run([*inside, commands])
    if done.returncode:
        raise SystemExit(f"{release}: {done.stderr[-2000:]}")
    mounts = (
        "mountpoint -q /proc || mount -t proc proc /proc; mountpoint -q /dev/pts || mount -t devpts devpts /dev/pts"
    )
    ready = f'{mounts}; cd /work && exec "$0" "$@"'
    return tested(release, [*inside, ready, "/env/bin/python"], words)


def rows(versions: list[str], releases: list[str], words: list[str]) -> Iterator[tuple[str, str, str]]:
    """Yield the version, the tests and the result of each run."""
    for version in versions:
        python = found(version)
        if python is not None:
            exact, result = tested(version, [str(environment(python, version))], ["-n", "2", *words])
            yield exact, "quick tests", result
    for release in releases:
        exact, result = debian(release, ["-n", "2", *words])
        yield exact, f"quick tests, Debian {release}", result
    exact, result = tested("httpx2", [sys.executable], ["-n", "0", "-p", AS_HTTPX2, "tests/client"])
    yield exact, "tests of the client with httpx2 as httpx", result


def write(row: tuple[str, str, str]) -> None:
    """Write a row into the table, replacing an earlier row."""
    head, _, table = PAGE.read_text(encoding="utf-8").partition(HEAD)
    lines = {tuple(line.strip("| ").split(" | ")[:2]): line for line in table.splitlines() if line}
    lines[row[:2]] = "| " + " | ".join((*row, f"{datetime.now(UTC):%Y-%m-%d}")) + " |"
    PAGE.write_text(head + HEAD + "\n".join(sorted(lines.values())) + "\n", encoding="utf-8")


def main() -> None:
    """Run the tests, and print and write the rows."""
    parser = argparse.ArgumentParser()
    parser.add_argument("versions", nargs="*", default=VERSIONS)
    parser.add_argument("--debian", action="append", default=[], metavar="RELEASE")
    parser.add_argument("--only", action="append", default=[], metavar="FILE", help="of the tests; nothing is written")
    asked = parser.parse_args()
    BUILD.mkdir(parents=True, exist_ok=True)
    for row in rows(list(asked.versions), asked.debian, asked.only):
        print("| " + " | ".join(row) + " |", flush=True)
        if not asked.only:
            write(row)


if __name__ == "__main__":
    began = time.monotonic()
    main()
    sys.stderr.write(f"{time.monotonic() - began:.0f} s\n")
