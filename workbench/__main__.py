"""Entry point of `python -m workbench` and of the command `workbench`."""

import atexit
import gc
import os
import sys
import threading
from typing import NoReturn


def run() -> NoReturn:
    """Run the command line and exit with its status."""
    gc.set_threshold(100_000, 20, 50)  # what a command imports stays, and is not looked through again and again
    from workbench.terminal import main

    code = main()
    try:
        sys.stdout.flush()
        sys.stderr.flush()
    except BrokenPipeError:  # the reader has gone, as `head` does
        os._exit(code)
    except (OSError, ValueError, AttributeError):  # closed or full: as Python ends otherwise
        sys.exit(code)
    if threading.active_count() > 1:
        sys.exit(code)
    atexit._run_exitfuncs()
    os._exit(code)  # taking thousands of classes apart would cost a fifth of the command


if __name__ == "__main__":
    run()
