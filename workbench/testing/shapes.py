"""Replace private values in recorded traffic by values of the same shape. Equal values get equal replacements.

Documented words, times, amounts and statuses stay, so the traffic can be replayed. Names, texts, ids, addresses,
account numbers, keys and unknown members are replaced by letters and digits that are derived from a secret key.
"""

import hmac
import ipaddress
import re
import uuid
from collections.abc import Mapping
from contextlib import suppress
from datetime import UTC, datetime
from functools import cache, lru_cache
from typing import Any

import orjson

from workbench.base.schema import walk
from workbench.base.schema.rules import UUID
from workbench.service.chains import eip55
from workbench.service.chains.addresses import Family, family_of_address
from workbench.service.chains.values import base58_encode, strkey_encode
from workbench.service.interface.table import OPERATIONS, PREFIX
from workbench.testing.facts import MOMENT, VERSION, declared, numbers, words
from workbench.testing.recorded import SERVED, Delivery, Exchange, Item, Texts

TOKEN = re.compile(rf"{UUID.pattern}|[^\W_]+", UUID.flags)
_DAY = re.compile(r"\d{4}-\d\d-\d\d")
_CODE = re.compile(r"[A-Z]{2,3}")
_PLAIN = frozenset(
    {"merchantCategoryCode", "balance", "isAmountNative", "expirationMonth", "expirationYear", "expiresAt"}
)
"""Members, in addition to `numbers()`, whose text is a number that is not private."""
_CODES = frozenset(
    {"currency", "localCurrency", "country", "countryCode", "countryOfIssue", "merchantCountry", "region"}
)
_HEADERS = frozenset({"content-type", "date", "retry-after", "x-ratelimit-limit", "idempotency-cached"})
_OPEN_HEADER = re.compile(
    r"(application/json|text/plain|text/html)(; ?charset=(utf|UTF)-8)?|"
    r"[A-Z][a-z]{2}, \d\d [A-Z][a-z]{2} \d{4} [0-9:]{8} GMT|\d{1,7}|true|false"
)
"""Pattern of header values that stay."""
_SECRET_HEADERS = frozenset({"api-key", "authorization", "idempotency-key", "signature", "secondary-signature"})
_KNOWN = frozenset(
    {"bearer", "is", "not", "a", "the", "of", "by", "must", "be", "for", "get", "post", "patch", "put", "delete"}
)
_LETTERS = "abcdefghijklmnopqrstuvwxyz"
_REMEMBERED = 50_000  # maximum number of replaced tokens to remember
_MAX_IDS = 200_000  # maximum number of ids that are kept so that reads can be repeated


@cache
def _spoken() -> frozenset[str]:
    """Return the words that may be shown, and the words of documented messages, names and paths, in lower case."""
    texts = [failure.message for row in OPERATIONS.values() for failure in row.failures]
    texts += [*declared(), *(row.path for row in SERVED.values())]
    return words() | _KNOWN | {word.lower() for text in texts for word in TOKEN.findall(text)}


class Shapes:
    """Replaces private values in recorded traffic, each by one value of the same shape.

    Args:
        key: Secret key that determines the replacements.
        keeps_ids: Whether UUIDs are left unchanged.
    """

    def __init__(self, key: bytes, *, keeps_ids: bool = False) -> None:
        self._key, self._keeps_ids = key, keeps_ids
        self.ids: dict[str, str] = {}  # replacement ids, by original id
        self._token = lru_cache(_REMEMBERED)(self._replaced)

    def line(self, item: Item) -> bytes:
        """Return an exchange or event with replaced values, as a line of JSON."""
        time = None if item.at is None else datetime.fromtimestamp(item.at, UTC).isoformat()
        if isinstance(item, Delivery):
            parts: dict[str, Any] = {"headers": self.headers(item.headers), "body": self.value(item.event)}
        else:
            parts = self._exchange(item)
        return orjson.dumps({"time": time, **parts}) + b"\n"

    def _exchange(self, x: Exchange) -> dict[str, Any]:
        query = "&".join(f"{self.text(name)}={self.text(value, name)}" for name, value in x.query)
        return {
            "method": self.text(x.method),
            "url": f"{PREFIX}{self.text(x.path)}{'?' if query else ''}{query}",
            "status": x.status,
            "request_headers": self.headers(x.sent_headers),
            "request_body": self._body(x.body, x.sent),
            "response_headers": self.headers(x.headers),
            "response_body": self._body(x.answer, x.received),
        }

    def _body(self, value: object, raw: bytes) -> Any:
        if value is None and raw:
            return self.text(raw[:10_000].decode("utf-8", "replace"))
        return self.value(value)

    def headers(self, headers: Texts) -> dict[str, str]:
        """Return the headers that a replay needs."""
        kept = {name: value for name, value in headers.items() if name in _HEADERS and _OPEN_HEADER.fullmatch(value)}
        return kept | {name: self.text(value) for name, value in headers.items() if name in _SECRET_HEADERS}

    def value(self, value: Any, name: str = "") -> Any:
        """Return a JSON value of the same shape."""
        if isinstance(value, Mapping):
            return {self.text(key): self.value(item, key) for key, item in value.items()}
        if isinstance(value, list):
            return [self.value(item, name) for item in value]
        if isinstance(value, str):
            return self.text(value, name)
        if isinstance(value, bool) or value is None or name in numbers():
            return value
        return type(value)(_alike_text(self._drawn(str(value)) * 8, str(value)))

    def text(self, text: str, name: str = "") -> str:
        """Return a text of the same shape."""
        is_open = (
            text.lower() in words()
            or (name in _CODES and _CODE.fullmatch(text))
            or (name in declared(walk.DateTime) and MOMENT.fullmatch(text))
            or (name == "version" and VERSION.fullmatch(text))
            or (name in _PLAIN | numbers() and re.fullmatch(r"-?[0-9a-fx]{1,20}(\.[0-9.]{1,20})?|true|false", text))
        )
        if is_open:
            return text
        if _DAY.fullmatch(text):
            drawn_day = self._drawn(text)
            return f"19{50 + drawn_day[0] % 50}-{1 + drawn_day[1] % 12:02}-{1 + drawn_day[2] % 28:02}"
        if "." in text or ":" in text:
            with suppress(ValueError):
                version, last = ipaddress.ip_address(text).version, self._drawn(text)[0]
                return f"192.0.2.{last}" if version == 4 else f"2001:db8::{last:x}"
        return TOKEN.sub(lambda match: self._token(match[0]), text)

    def _drawn(self, text: str) -> bytes:
        return hmac.digest(self._key, text.encode("utf-8", "surrogatepass"), "sha256")

    def _replaced(self, text: str) -> str:
        if text.lower() in _spoken() or (self._keeps_ids and UUID.fullmatch(text)):
            return text
        drawn = self._drawn(text.lower())
        family = family_of_address(text) if 30 < len(text) < 66 else None
        if UUID.fullmatch(text):
            new, text = str(uuid.UUID(bytes=drawn[:16], version=4)), text.lower()
        elif family is Family.EVM:
            new = "0x" + drawn[:20].hex()
            new = new if text.lower() == text else eip55(new)
        elif family is not None:
            new = base58_encode(drawn) if family is Family.SOLANA else strkey_encode(text[0], drawn)
        else:
            return _alike_text(drawn * (len(text) // len(drawn) + 1), text)
        if len(self.ids) < _MAX_IDS:
            self.ids[text] = new
        return new


def _alike(character: str, byte: int, place: int) -> str:
    if character.isdigit():
        return str(byte % 10) if place else str(1 + byte % 9)
    if not character.isalpha():
        return character
    if not character.isascii():
        return "äöüéñçøå"[byte % 8]
    letter = _LETTERS[byte % 26]
    return letter.upper() if character.isupper() else letter


def _alike_text(drawn: bytes, text: str) -> str:
    return "".join(_alike(character, byte, i) for i, (character, byte) in enumerate(zip(text, drawn, strict=False)))
