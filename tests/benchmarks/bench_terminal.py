"""Processor time of ten commands, beside that of `python -c "import httpx"`.

Run: python -m tests.benchmarks.bench_terminal
"""

import os
import resource
import subprocess
import sys
import tempfile

RUNS = 9
COMMANDS = (
    "--help", "transactions authorize --help", "contracts list", "contracts list -o json", "contracts list --fresh",
    "sandbox advance 1h", "events", "journal list", "docs user.updated", "docs skeleton create-user-application",
)  # fmt: skip


def cpu_seconds(*words: str) -> float:
    """Return the least processor time of some runs: what else runs on the machine does not count."""
    spent = []
    for _ in range(RUNS):
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        subprocess.run([sys.executable, *words], check=True, capture_output=True)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        spent.append(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)
    return min(spent)


def main() -> None:
    """Print a row of a table for each command."""
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
    with tempfile.TemporaryDirectory() as folder:
        os.environ |= {"WORKBENCH_STATE": folder, "WORKBENCH_CONFIG": f"{folder}/profiles.toml"}
        subprocess.run([sys.executable, "-m", "workbench", "contracts", "list"], check=True, capture_output=True)
        usual = cpu_seconds("-c", "import httpx")
        print(f'| `python -c "import httpx"` | {usual:.2f} s | 1 |')
        for command in COMMANDS:
            spent = cpu_seconds("-m", "workbench", *command.split())
            print(f"| `workbench {command}` | {spent:.2f} s | {spent / usual:.1f} |")


if __name__ == "__main__":
    main()
