"""Measure the processor time of ten commands with the base install, compared with `python -c "import httpx"`.

Run: python -m tests.benchmarks.bench_terminal
"""

import os
import resource
import subprocess
import tempfile
from pathlib import Path

from tests import environments

RUNS = 9
HTTPX = '`python -c "import httpx"`'
LIBRARIES = '`python -c "import cattrs, cyclopts"`'  # the libraries that every operation imports (cattrs imports attrs)
COMMANDS = (
    "--help", "transactions authorize --help", "contracts list", "contracts list -o json", "contracts list --fresh",
    "sandbox advance 1h", "events list", "journal list", "docs user.updated", "docs skeleton create-user-application",
)  # fmt: skip


def cpu_seconds(python: Path, words: tuple[str, ...], folder: str) -> float:
    """Return the processor time of a command in seconds, including the start of Python."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run([python, *words], check=True, capture_output=True, cwd=folder)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def main() -> None:
    """Run all commands in each round, and print a table row for each command with its shortest time."""
    programs = {
        '`python -c "pass"`': ("-c", "pass"),
        '`python -c "import workbench"`': ("-c", "import workbench"),
        HTTPX: ("-c", "import httpx"),
        LIBRARIES: ("-c", "import cattrs, cyclopts"),
        **{f"`workbench {command}`": ("-m", "workbench", *command.split()) for command in COMMANDS},
    }
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
    with tempfile.TemporaryDirectory() as folder:
        python = environments.make(Path(folder) / "base", environments.closure())
        environments.install(python, environments.wheel(Path(folder) / "wheel"))
        os.environ |= {"WORKBENCH_STATE": f"{folder}/state", "WORKBENCH_CONFIG": f"{folder}/profiles.toml"}
        for words in programs.values():  # warm up: this round creates the sandbox and compiles the files
            cpu_seconds(python, words, folder)
        rounds = [{name: cpu_seconds(python, words, folder) for name, words in programs.items()} for _ in range(RUNS)]
    least = {name: min(spent[name] for spent in rounds) for name in programs}
    usual = least[HTTPX]
    for name, seconds in least.items():
        print(f"| {name} | {seconds:.3f} s | {seconds / usual:.1f} |")


if __name__ == "__main__":
    main()
