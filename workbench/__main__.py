"""Entry point of `python -m workbench` and of the command `workbench`."""

import gc
import os
import sys
from typing import NoReturn


def run() -> NoReturn:
    """Run the command line and exit with its status."""
    gc.set_threshold(100_000, 20, 50)  # imported objects stay in memory, so frequent collections would be wasted
    from workbench.terminal import main

    code = main()
    try:
        sys.stdout.flush()
        sys.stderr.flush()
    except BrokenPipeError:  # the reader of the output ended early, as `head` does
        os._exit(code)
    except (OSError, ValueError, AttributeError):  # the stream is closed, or the disk is full: exit as Python does
        sys.exit(code)
    if "duckdb" not in sys.modules:  # DuckDB reports objects that outlive it on stderr
        gc.freeze()  # otherwise Python spends a fifth of the run time on destroying thousands of classes
    sys.exit(code)


if __name__ == "__main__":
    run()
