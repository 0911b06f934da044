"""A bulk run in its own process, to be killed: python bulk_child.py URL KEY RUN ROWS WORKERS."""

import json
import sys
from pathlib import Path

from workbench.bulk import resume, run
from workbench.client.client import Client
from workbench.errors import InvalidRequest


def main() -> None:
    """Start the run, or resume it; print its state."""
    url, key, path, rows, workers = sys.argv[1:]
    api = Client(base_url=url, api_key=key, journal=Path(path).with_name("journal.db"))
    bodies = json.loads(Path(rows).read_bytes())
    print("ready", flush=True)
    try:
        done = resume(path, api, bodies, workers=int(workers), progress=False)
    except InvalidRequest:  # it never began
        done = run(api.create_payment_account, bodies, path=path, workers=int(workers), progress=False)
    print(json.dumps(done.counts), flush=True)


if __name__ == "__main__":
    main()
