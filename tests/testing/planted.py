"""Print a table of the planted bugs: the time to find each, and the length of its shortest story.

Run: python -m tests.testing.planted
"""

import re
import time
from typing import Any

from tests.testing.applications import PLANTED, PLANTED_IN_TILLS
from tests.testing.ledgers import WRONG, forget
from tests.testing.test_exploring import explored
from workbench import testing


def row(application: type[Any]) -> str:
    """Find the bug of an application, and return the row of the table."""
    began = time.process_time()
    if application in WRONG:
        forget()
        result = testing.explore(application)
    else:
        result = explored(application)
    seconds = time.process_time() - began
    failure = result.failure
    assert failure is not None, application
    name = re.sub(r"(?<!^)(?=[A-Z])", " ", application.__name__).lower()
    told = "; ".join(failure.decisions) or "nothing went wrong"
    return (
        f"| {name} | {failure.breach.invariant} | {result.universes} | {seconds:.1f} | {len(failure.story)} | {told} |"
    )


def main() -> None:
    """Print the table."""
    print("| Planted bug | Broken invariant | Universes | Seconds | Lines of the story | Decisions that are left |")
    print("| --- | --- | --- | --- | --- | --- |")
    for application in (*PLANTED, *PLANTED_IN_TILLS, *WRONG):
        print(row(application), flush=True)


if __name__ == "__main__":
    main()
