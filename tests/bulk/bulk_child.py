"""Run a bulk run in a separate process, so that a test can kill the process."""

import json
from multiprocessing.connection import Connection
from pathlib import Path

from workbench.base.errors import UsageError
from workbench.client.calls.client import Client
from workbench.runs.bulk import resume, run


def send_all(url: str, key: str, path: Path, workers: int, ready: Connection) -> None:
    """Start a run with a progress file next to the rows file, or resume the run."""
    api = Client(base_url=url, api_key=key, journal=path.with_name("journal.db"))
    rows = json.loads(path.with_name("rows.json").read_bytes())
    ready.send("ready")
    try:
        resume(api, path, rows, workers=workers, progress=False)
    except UsageError:  # the file contains no run to resume
        run(api.create_payment_account, rows, path=path, workers=workers, progress=False)
