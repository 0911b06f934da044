"""Command line: every operation, every control of the sandbox, a shell, and a webhook listener."""

import sys
from collections.abc import Sequence

from workbench.terminal.exits import DONE, run_to_exit


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command line and return its exit code."""
    tokens = list(sys.argv[1:] if argv is None else argv)
    if tokens[:1] == ["help"]:
        tokens = [*tokens[1:], "--help"]
    arguments = [token for token in tokens if token not in ("-q", "--quiet")]
    if arguments in ([], ["--help"], ["-h"]) and sys.stdout is not None:
        return run_to_exit(_first_page)
    return run_to_exit(lambda: _run(tokens))


def _first_page() -> int:
    from workbench.terminal import commands

    print(commands.first_page())
    return DONE


def _run(tokens: list[str]) -> int:
    from workbench.terminal.application import run  # the first page of help needs none of it

    return run(tokens)
