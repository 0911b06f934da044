"""Run all benchmarks in sequence, each in a separate process: `python -m tests.benchmarks [NAME …]`."""

import subprocess
import sys
from pathlib import Path

NAMES = tuple(sorted(path.stem.removeprefix("bench_") for path in Path(__file__).parent.glob("bench_*.py")))


def main() -> int:
    """Run the named benchmarks (default: all), and return 1 if one failed."""
    asked = sys.argv[1:] or NAMES
    unknown = [name for name in asked if name not in NAMES]
    if unknown:
        print(f"no benchmark is called {', '.join(unknown)}; there are {', '.join(NAMES)}", file=sys.stderr)
        return 2
    failed = []
    for name in asked:
        print(f"\n== {name}", flush=True)
        if subprocess.run([sys.executable, "-m", f"tests.benchmarks.bench_{name}"], check=False).returncode:
            failed.append(name)
    if failed:
        print(f"failed: {', '.join(failed)}", file=sys.stderr)
    return bool(failed)


if __name__ == "__main__":
    sys.exit(main())
