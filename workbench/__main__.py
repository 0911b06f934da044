"""`python -m workbench` is `workbench`."""

import sys

from workbench.terminal import main

if __name__ == "__main__":
    sys.exit(main())
