"""The command line: every operation, every control of the sandbox, a shell, a webhook listener."""

import sys
from collections.abc import Sequence


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command line and return its exit code."""
    tokens = list(sys.argv[1:] if argv is None else argv)
    if tokens[:1] == ["help"]:
        tokens = [*tokens[1:], "--help"]
    words = [token for token in tokens if token not in ("-q", "--quiet")]
    if words in ([], ["--help"], ["-h"]) and sys.stdout is not None:
        from workbench.terminal.commands import first_page

        print(first_page())
        return 0
    from workbench.terminal.exits import run_to_exit

    def run() -> int:
        from workbench.terminal.app import run

        return run(tokens)

    return run_to_exit(run)
