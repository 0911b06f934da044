"""HTTP requests and responses as values."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path
from typing import Any

import attrs

from workbench.base.frozen import frozen

LOOPBACK = frozenset({"127.0.0.1", "localhost", "::1", "[::1]"})
"""Names of this machine."""

BROKEN = frozenset({"refused", "reset", "closed", "lost"})
"""Ways in which a connection ends without a response."""


ACTOR: ContextVar[str] = ContextVar("actor", default="")
"""Token of the action that requests in this context belong to; "" without an action. Sandboxes read the token."""
ACTOR_HEADER = "workbench-actor"
"""Header that carries the token to a served sandbox."""


@contextmanager
def acting(actor: str) -> Iterator[None]:
    """Attribute the sandbox changes of requests within the `with` block to an action."""
    token = ACTOR.set(actor)
    try:
        yield
    finally:
        ACTOR.reset(token)


class HeaderDict(dict[str, str]):
    """Headers by lower-case name, with case-insensitive lookup."""

    __slots__ = ()

    def __getitem__(self, name: str) -> str:
        return super().__getitem__(name.lower())

    def __contains__(self, name: object) -> bool:
        return isinstance(name, str) and super().__contains__(name.lower())

    def get(self, name: str, default: object = None) -> Any:
        """Return the value of a header, or the default."""
        return super().get(name.lower(), default)


@frozen
class Request:
    """A request with its complete body. Header names are in lower case, or the mapping ignores their case."""

    method: str
    path: str  # path as sent, with percent escapes
    query: str = ""
    headers: Mapping[str, str] = attrs.field(factory=dict)
    body: bytes = b""
    local: bool = False  # whether the Host header names this machine
    peer: str = ""  # address of the client

    def __repr__(self) -> str:
        return f"<{self.method} with {len(self.body):,} bytes>"


@frozen
class Response:
    """A response and how it is sent. If `file` is set, the file is sent in chunks instead of `body`.

    `manner` is "whole", "cut" (half of the body, then the connection closes), "slow_body" (byte by byte over
    `seconds`), or one of `BROKEN`. With every manner except "slow_body", `seconds` is a delay before the response.
    """

    status: int
    headers: Mapping[str, str] = attrs.field(factory=dict)
    body: bytes = attrs.field(default=b"", repr=False)
    file: Path | None = None
    manner: str = "whole"
    seconds: float = 0.0
    fault: str | None = None  # kind of the fault rule that was applied
    context: Any = attrs.field(default=None, repr=False, eq=False)  # None if no operation handled the request
