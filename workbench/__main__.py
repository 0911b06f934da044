"""Entry point of `python -m workbench` and of the command `workbench`."""

import gc
import os
import sys
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
    gc.freeze()  # taking thousands of classes apart would cost a fifth of the command
    sys.exit(code)


if __name__ == "__main__":
    run()
