"""A server with an invalid guide gives an error of this package."""

import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from typing import Any

import pytest

import workbench as wb
from workbench.base.errors import WorkbenchError

GUIDES: dict[str, bytes] = {
    "HTML": b"<html><body>no</body></html>", "null": b"null", "number": b"7", "text": b'"x"', "list": b"[]", "empty": b"", "object": b"{}",
    "deep": b"[" * 100_000 + b"]" * 100_000, "no keys": b'{"api_keys": {}, "seed": 1, "environment": "sandbox"}',
    "null keys": b'{"api_keys": null, "seed": 1}', "keys of another type": json.dumps({"api_keys": {"full": 7}, "seed": 1}).encode(),
    "no seed": b'{"api_keys": {"full": "k"}}', "not UTF-8": b"\xff\xfe", "large number": b'{"seed": ' + b"9" * 5_000 + b"}",
}  # fmt: skip


@pytest.fixture(params=GUIDES)
def url(request: Any) -> Iterator[str]:
    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            body = GUIDES[request.param]
            self.send_response(200)
            self.send_header("workbench-sandbox", "another")
            self.send_header("content-length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        do_POST = do_GET  # noqa: N815 - the name is the base class's

        def log_message(self, *_: Any) -> None:
            pass

    server = HTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    server.server_close()


def test_an_unusual_guide_is_an_error_of_ours(url: str) -> None:
    with pytest.raises(WorkbenchError):
        wb.connect(url)
