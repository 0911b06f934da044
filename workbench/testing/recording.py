"""Record calls as lines of JSON, in the format of a corpus. Private values are replaced by values of the same shape."""

import os
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from workbench.base.errors import Problem, UsageError
from workbench.base.system.files import check_name, write_file
from workbench.client.calls.messages import HttpResponse
from workbench.runs.sequences.reading import SCRIPTED
from workbench.service.interface.table import PREFIX
from workbench.testing.recorded import Exchange, Reading, item_of
from workbench.testing.shapes import Shapes


@contextmanager
def record(api: object, path: str | Path) -> Iterator[None]:
    """Record a client's calls within a `with` block, in this thread or task, as lines of JSON.

    Texts in requests and responses are replaced by texts of the same shape. API keys are never included. Ids, numbers,
    times and documented words stay. If the block raises an error, the calls answered before the error are still
    written.

    Args:
        api: A session or client on a sandbox or a real service.
        path: Path of the file; an existing file is replaced.

    Raises:
        UsageError: No call was answered, or the file cannot be created.
    """
    check_name(path)
    file = Path(path).absolute()
    if not file.parent.is_dir() or (file.exists() and not file.is_file()):
        raise UsageError([Problem("path", "path", "must name a file in an existing folder")], of="record")
    if not hasattr(api, "responses"):
        raise UsageError([Problem("api", "type", "must be a session or client")], of="record")
    with api.responses() as responses:
        completed = False
        try:
            yield
            completed = True
        finally:
            if completed or responses:
                write_file(file, lines_of(responses))


def lines_of(responses: Iterable[HttpResponse]) -> bytes:
    """Return a client's responses as lines of JSON, without responses that contain withdrawal signatures.

    Raises:
        UsageError: No response is left.
    """
    shapes = Shapes(os.urandom(32), keeps_ids=True)
    lines = [shapes.line(item) for item in exchanges(responses, Reading())]
    if not lines:
        raise UsageError("no call was answered", of="record")
    return b"".join(lines)


def exchanges(responses: Iterable[HttpResponse], reading: Reading) -> Iterator[Exchange]:
    """Yield a client's responses as exchanges, without responses that contain withdrawal signatures."""
    for response in responses:
        if response.operation in SCRIPTED and (item := exchange_of(response, reading)) is not None:
            reading.counts["exchanges"] += 1
            yield item


def exchange_of(response: HttpResponse, reading: Reading) -> Any:
    """Return a client's response as an exchange; None if it has no status."""
    members = {
        "method": response.request.operation.method,
        "url": PREFIX + response.request.target,
        "status": response.status,
        "time": datetime.now(UTC).isoformat(),
        "request_headers": {"content-type": "application/json"},
        "request_body": response.request.body,
        "response_headers": response.headers,
        "response_body": response.body,
    }
    return item_of(members, response.operation, reading)
