"""The signature itself: held where no dump, pickle or repr reaches, shown for a minute, dropped when it expires."""

from collections.abc import Iterator
from typing import Any, NoReturn

from workbench.errors import InvalidRequest
from workbench.interface.masks import DOTS

SHOWN_FOR = 60.0  # seconds that a revealed value can be read


class NotSerializable:
    """What is never pickled or copied, and prints masked."""

    __slots__ = ()

    def __repr__(self) -> str:
        return DOTS

    def __rich_repr__(self) -> Iterator[str]:
        yield repr(self)  # rich would go into a mapping or a list

    def __reduce_ex__(self, _: Any) -> NoReturn:
        raise TypeError("a withdrawal's signature is neither pickled nor copied: it allows moving funds")


class Secret(NotSerializable):
    """A signature and its salt, as bytes and as the service wrote them. No attrs class: `asdict` would look into it."""

    __slots__ = ("data", "data_text", "public_key", "salt", "salt_text")

    def __init__(self, *, data: bytes, salt: bytes, data_text: str, salt_text: str, public_key: bytes | None) -> None:
        self.data = data
        self.salt = salt
        self.data_text = data_text
        self.salt_text = salt_text
        self.public_key = public_key


class Revealed(NotSerializable):
    """A signature that can be read for a minute: `.data` and `.salt` as the service wrote them. It prints masked.

    A view, and no text, so that no cell's output and no history keeps what it shows.
    """

    __slots__ = ("_clock", "_secret", "_until")

    def __init__(self, secret: Secret, clock: Any) -> None:
        self._secret: Secret | None = secret
        self._clock = clock
        self._until = clock.monotonic() + SHOWN_FOR

    @property
    def data(self) -> str:
        """The signature, as the service wrote it."""
        return self._read().data_text

    @property
    def salt(self) -> str:
        """The salt, as the service wrote it."""
        return self._read().salt_text

    @property
    def seconds_left(self) -> int:
        """Seconds for which it can still be read."""
        return 0 if self._secret is None else max(0, int(self._until - self._clock.monotonic()))

    def hide(self) -> None:
        """Let go of it at once."""
        self._secret = None

    def _read(self) -> Secret:
        if self._clock.monotonic() >= self._until:
            self.hide()
        if self._secret is None:
            raise InvalidRequest(f"this was revealed for {SHOWN_FOR:.0f} s, which are over; reveal() shows it again")
        return self._secret

    def __repr__(self) -> str:
        return f"<revealed signature, {self.seconds_left} s left: .data and .salt>"
