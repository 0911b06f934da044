"""What a campaign asks of a handler, and a handler that is reached over HTTP."""

import subprocess
import time
from collections.abc import Mapping, Sequence
from typing import Protocol

import httpx

from workbench.errors import InvalidRequest, visible

_START_SECONDS = 30.0
_POLL_INTERVAL = 0.1


class Handler(Protocol):
    """A handler with its books. Each object begins with empty books, and checks signatures with the key it was made with."""

    def receive(self, headers: Mapping[str, str], body: bytes) -> int:
        """Take a delivery, and return the HTTP status of the response."""

    def books(self) -> Mapping[str, int]:
        """Return what each transaction posted, in cents: settlements less refunds. Those of 0 may be left out."""

    def restart(self) -> None:
        """Lose what is only in memory, as a crash of the process does."""


class HttpHandler:
    """A handler of another program.

    Args:
        url: URL that takes deliveries.
        books: URL that returns a JSON object: cents by the id of the transaction.
        reset: URL that empties the books (POST); without it what breaks is reported, but not reduced to its shortest sequence.
        restart: Command that ends the program and starts it again; without it there is no crash.
    """

    def __init__(self, url: str, books: str, reset: str | None = None, restart: Sequence[str] = ()) -> None:
        self._url, self._books, self._restart = url, books, restart
        none_kept = httpx.Limits(max_keepalive_connections=0)  # a handler may be restarted at any time
        self._http = httpx.Client(timeout=10, trust_env=False, limits=none_kept)
        if reset is not None:
            self._http.post(reset).raise_for_status()

    def receive(self, headers: Mapping[str, str], body: bytes) -> int:
        """Send a delivery; 0 where no response came."""
        try:
            return self._http.post(self._url, content=body, headers=dict(headers)).status_code
        except httpx.HTTPError:
            return 0

    def books(self) -> Mapping[str, int]:
        """Read the books.

        Raises:
            InvalidRequest: They are not a JSON object of whole cents.
        """
        try:
            answer = self._http.get(self._books)
            found = answer.raise_for_status().json()
        except (httpx.HTTPError, ValueError) as error:
            raise InvalidRequest(
                f"books: {visible(self._books, 200)} does not answer: {type(error).__name__}", of="chaos"
            ) from None
        if not isinstance(found, dict) or not all(type(cents) is int for cents in found.values()):
            raise InvalidRequest("books: must be a JSON object of whole cents by transaction", of="chaos")
        return found

    def restart(self) -> None:
        """Run the command, and wait until the books can be read."""
        if not self._restart:
            return
        subprocess.run(list(self._restart), check=False, timeout=_START_SECONDS)
        deadline = time.monotonic() + _START_SECONDS
        while time.monotonic() < deadline:
            try:
                self._http.get(self._books)
            except httpx.HTTPError:
                time.sleep(_POLL_INTERVAL)
            else:
                return
