"""Create a payment account for each row of a file, at most once: `python examples/batch.py payouts.csv`.

Run it again after an interrupt, a crash or a correction of the file: it resumes where it stopped. The exit code is 0 if
each row is done, 4 if the outcome of a row is unknown, 3 if rows were refused, 2 if the file has problems, 5 if rows
were not sent. The columns are the arguments of `create_payment_account`, such as `nickname`.
"""

import os
import sys
from pathlib import Path

import workbench as wb


def run(rows: Path, api: wb.Session) -> int:
    """Send the rows that were not sent yet, print the number of rows by outcome, and return the exit code."""
    path = rows.with_suffix(".run")
    try:
        if path.exists():
            result = wb.bulk.resume(api, path, rows, progress=False)
        else:
            result = wb.bulk.run(api.create_payment_account, rows, path=path, key="nickname", progress=False)
    except wb.bulk.InvalidRows as error:
        print(error.frame.to_string(index=False))
        return 2
    frame = wb.to_frame(result)
    print(frame.groupby("outcome", observed=True).size().to_string())
    if "unknown" in set(frame["outcome"]):
        print("Sent without a readable answer; look at these before you resume:")
        for finding in wb.bulk.investigate(api, result):
            print(f"row {finding.row}: {finding.found}")
        return 4
    if "refused" in set(frame["outcome"]):
        return 3
    return 0 if result.ok else 5


if __name__ == "__main__":
    with wb.connect(os.environ.get("WORKBENCH_PROFILE"), path=os.environ.get("SANDBOX")) as session:
        sys.exit(run(Path(sys.argv[1]), session))
