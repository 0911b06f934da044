"""A client that uses only the standard library and the documented interface."""

import http.client
import json
from typing import Any
from urllib.parse import urlencode, urlsplit


class Plain:
    """Plain HTTP calls to a served sandbox."""

    def __init__(self, url: str, key: str | None = None) -> None:
        self.url = url
        self.key = key
        self.guide: Any = {}

    def __enter__(self) -> "Plain":
        parts = urlsplit(self.url)
        self.connection = http.client.HTTPConnection(parts.hostname or "", parts.port, timeout=30)
        status, self.guide, _ = self.send("GET", "/_sandbox/guide")
        assert status == 200
        self.key = self.key or next(iter(self.guide["api_keys"].values()))
        return self

    def __exit__(self, *_: object) -> None:
        self.connection.close()

    def send(
        self, method: str, path: str, body: Any = None, headers: dict[str, str] | None = None
    ) -> tuple[int, Any, dict[str, str]]:
        """Send a request; return status, body and headers of the response."""
        status, text, found = self.send_raw(method, path, body, headers)
        return status, json.loads(text) if text else None, found

    def send_raw(
        self, method: str, path: str, body: Any = None, headers: dict[str, str] | None = None
    ) -> tuple[int, bytes, dict[str, str]]:
        """Send a request; return status, bytes and headers of the response."""
        given = {"Api-Key": self.key} if self.key else {}
        raw = body if isinstance(body, bytes | None) else json.dumps(body).encode()
        if raw is not None:
            given["Content-Type"] = "application/json"
        self.connection.request(method, path, raw, given | (headers or {}))
        answer = self.connection.getresponse()
        text = answer.read()
        found = {name.lower(): value for name, value in answer.getheaders()}
        return answer.status, text, found

    def call(self, method: str, path: str, body: Any = None, **query: Any) -> Any:
        """Call an operation that succeeds; return the body of its response."""
        status, said, _ = self.send(method, f"/v1{path}" + (f"?{urlencode(query)}" if query else ""), body)
        assert 200 <= status < 300, (method, path, status, said)
        return said

    def control(self, name: str, /, **arguments: Any) -> Any:
        """Use a control that succeeds; return its result."""
        status, said, _ = self.send("POST", f"/_sandbox/{name}", arguments)
        assert status == 200, (name, status, said)
        return said
