"""The same at a prompt: every operation, every control, a shell, a listener. Nothing is loaded before it is needed."""

import sys
from collections.abc import Sequence


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command line and give its exit code."""
    from workbench.terminal.ends import ending

    tokens = list(sys.argv[1:] if argv is None else argv)
    return ending(lambda: _run(tokens))


def _run(tokens: list[str]) -> int:
    if not tokens or tokens in (["--help"], ["-h"], ["help"]):
        from workbench.terminal.overview import overview

        return overview()
    from workbench.terminal.app import run

    return run(tokens)
