"""Measure the size and number of packages of the base install and of each extra, and the import time of the client.

Run: python -m tests.benchmarks.bench_install (needs a package index; several minutes)
"""

import re
import subprocess
import sys
import tempfile
import tomllib
from pathlib import Path

ROOT = Path(__file__).parents[2]
OURS = {"pip", "setuptools", "card-issuing-workbench"}
CODE = "import sys, time; t = time.perf_counter(); {}; print((time.perf_counter() - t) * 1000)"


def output(*command: str | Path) -> str:
    """Return what a command prints."""
    return subprocess.run([str(part) for part in command], check=True, capture_output=True, text=True, cwd="/").stdout


def milliseconds(python: Path, code: str) -> float:
    """Return the shortest wall time of five runs of some code, without the start of the interpreter."""
    return min(float(output(python, "-c", CODE.format(code))) for _ in range(5))


def install(folder: Path, wanted: str) -> tuple[int, float, Path]:
    """Install a requirement with pinned versions into a fresh environment.

    Returns:
        The number of packages, their size in MB, and the environment's Python.
    """
    pinned = re.findall(r"^[\w.-]+(?:\[.*\])?==\S+", (ROOT / "requirements/dev.txt").read_text(), re.MULTILINE)
    constraints = folder / "constraints.txt"
    constraints.write_text(re.sub(r"\[.*?\]", "", "\n".join(pinned)))
    python = folder / "bin" / "python"
    output(sys.executable, "-m", "venv", folder)
    output(python, "-m", "pip", "install", "-q", "-c", constraints, wanted)
    names = {line.partition("==")[0] for line in output(python, "-m", "pip", "list", "--format=freeze").split()}
    files = [file for file in folder.rglob("site-packages/**/*") if file.is_file()]
    mine = [file for file in files if not {"pip", "setuptools"} & set(file.parts)]
    return len(names - OURS), sum(file.stat().st_size for file in mine) / 1e6, python


def main() -> None:
    """Install each extra into a separate environment, and print the table."""
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
    for extra in ("", *(name for name in extras if name != "dev")):
        with tempfile.TemporaryDirectory() as folder:
            packages, megabytes, python = install(Path(folder), f"{ROOT}[{extra}]" if extra else f"{ROOT}")
            print(f"{extra or 'base':9} {packages:4} packages {megabytes:5.0f} MB", flush=True)
            if not extra:
                client, floor = (
                    milliseconds(python, "import workbench; workbench.Client"),
                    milliseconds(python, "import httpx"),
                )
                print(f"import of the client {client:.0f} ms; import of httpx alone {floor:.0f} ms", flush=True)


if __name__ == "__main__":
    main()
