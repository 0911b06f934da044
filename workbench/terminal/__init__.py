"""The command line: every operation, every control of the sandbox, a shell, a webhook listener."""

import sys
from collections.abc import Sequence


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command line and return its exit code."""
    from workbench.terminal.exits import run_to_exit

    tokens = list(sys.argv[1:] if argv is None else argv)

    def run() -> int:
        from workbench.terminal.app import run

        return run(tokens)

    return run_to_exit(run)
