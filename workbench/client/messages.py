"""What a client is asked to send or wait for, and what comes back: plain objects, printed without their content."""

import zlib
from collections.abc import Callable, Mapping

import attrs

CAP = 10_000_000  # bytes of an answer, unpacked
WRITTEN = 2  # the phase from which the service may have acted


@attrs.define(eq=False, repr=False)
class Request:
    """What to send. The driver notes in it how far it got."""

    method: str
    where: str  # the path template, which is harmless to show
    target: str  # path and query, after the base URL
    headers: list[tuple[bytes, bytes]]  # all but the key
    body: bytes | None
    deadline: float = 0.0
    phase: int = -1  # 0: the driver has it, 1: the head is being written, 2: it was
    traced: bool = False  # whether the driver sees the phase
    status: int | None = None
    clean: Callable[[str], str] = str  # masks what words about it repeat of its private values

    @property
    def surely_not_sent(self) -> bool:
        """Whether not a byte of it was written."""
        return self.phase < 0 or (self.traced and self.phase == 0)

    def __repr__(self) -> str:
        return f"<request {self.method} {self.where}>"


@attrs.frozen(eq=False, repr=False)
class Response:
    """What came back: a whole status, and the body as far as it could be read."""

    status: int
    headers: Mapping[str, str]
    body: bytes
    broken: "Broken | None" = None  # why the body is not whole

    def __repr__(self) -> str:
        return f"<response {self.status}, {len(self.body)} bytes>"


@attrs.frozen(eq=False, repr=False)
class Broken:
    """No answer: what happened, whether the request may have been acted on, and the transport's error without more."""

    why: str
    left: bool = attrs.field(kw_only=True)
    timeout: bool = attrs.field(default=False, kw_only=True)
    too_large: bool = attrs.field(default=False, kw_only=True)
    cause: Exception | None = attrs.field(default=None, kw_only=True)

    def __repr__(self) -> str:
        return f"<broken: {self.why}>"


@attrs.frozen
class Pause:
    """Wait, then go on."""

    seconds: float


class TooLarge(Exception):
    """The body passed the cap; it is not read on."""


class Body:
    """A body while it arrives: unpacked by ourselves, so that it never grows beyond the cap."""

    __slots__ = ("_left", "_parts", "_unpack")

    def __init__(self, encoding: str | None, cap: int = CAP) -> None:
        packed = (encoding or "").strip().lower()
        # 47: gzip or zlib, by the first bytes. Others were not asked for and stay as they are.
        self._unpack = zlib.decompressobj(47) if packed in {"gzip", "x-gzip", "deflate"} else None
        self._parts: list[bytes] = []
        self._left = cap

    def feed(self, chunk: bytes) -> None:
        """Take the next bytes.

        Raises:
            TooLarge: Unpacked they pass the cap.
            zlib.error: They are not what their encoding says.
        """
        if self._unpack is not None:
            chunk = self._unpack.decompress(chunk, self._left + 1)
        self._left -= len(chunk)
        if self._left < 0:
            raise TooLarge
        self._parts.append(chunk)

    def whole(self) -> bytes:
        """Return the body."""
        return self._parts[0] if len(self._parts) == 1 else b"".join(self._parts)
