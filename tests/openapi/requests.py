"""The twelve calls as HTTP requests, for programs that need method, URL, headers and body."""

import base64
import json
from collections.abc import Mapping, Sequence
from typing import NamedTuple
from urllib.parse import urlencode

from tests.openapi.calls import Call
from workbench.service.interface.table import OPERATIONS


class Sent(NamedTuple):
    """An HTTP request, which `line` writes as one line of text for a program."""

    method: str
    url: str
    headers: Mapping[str, str]
    body: bytes

    @property
    def line(self) -> str:
        headers = "|".join(f"{name}:{value}" for name, value in self.headers.items())
        return "\t".join((self.method, self.url, headers, base64.b64encode(self.body).decode()))


def requests_of(calls: Sequence[Call], base_url: str, key: str, agent: str) -> list[Sent]:
    """Return the HTTP requests that make some calls."""
    sent = []
    for call in calls:
        operation, parameters = OPERATIONS[call.operation], dict(call.parameters)
        path = operation.path
        for name in [name for name in parameters if f"{{{name}}}" in path]:
            path = path.replace(f"{{{name}}}", parameters.pop(name))
        texts = {name: str(value).lower() if isinstance(value, bool) else value for name, value in parameters.items()}
        query = f"?{urlencode(texts)}" if texts else ""
        headers = {"Api-Key": key, "User-Agent": agent}
        body = b"" if call.body is None else json.dumps(call.body, ensure_ascii=False).encode()
        sent.append(
            Sent(
                operation.method,
                f"{base_url}{path}{query}",
                headers | ({"Content-Type": "application/json"} if body else {}),
                body,
            )
        )
    return sent
