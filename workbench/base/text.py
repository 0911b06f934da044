"""Decoding of UTF-8 text, with or without a byte order mark. For UTF-16 and UTF-32, the error names the encoding."""

_MARK = b"\xef\xbb\xbf"
_MARKS = {b"\xff\xfe\0\0": "UTF-32", b"\0\0\xfe\xff": "UTF-32", b"\xff\xfe": "UTF-16", b"\xfe\xff": "UTF-16"}
"""Byte order marks of other encodings. UTF-32 is first, since one UTF-32 mark begins with a UTF-16 mark."""


class NotText(ValueError):
    """Bytes that are not UTF-8. The message states the probable encoding or the position of the error."""

    def __init__(self, reason: str, offset: int | None = None) -> None:
        super().__init__(reason if offset is None else f"{reason} (at byte {offset})")
        self.reason, self.offset = reason, offset


def decode(data: bytes) -> str:
    """Return UTF-8 bytes as text, without a byte order mark.

    Raises:
        NotText: The bytes are not UTF-8.
    """
    if data[:1] in (b"\xff", b"\xfe", b"\0"):
        for mark, name in _MARKS.items():
            if data.startswith(mark):
                raise NotText(f"{name} instead of UTF-8")
    if b"\0" in data[:2]:  # UTF-16 text without a byte order mark that begins with an ASCII character
        raise NotText("not UTF-8, but UTF-16 or not text")
    failure: NotText
    try:
        return data.removeprefix(_MARK).decode()
    except UnicodeDecodeError as error:
        offset = error.start + len(_MARK) * data.startswith(_MARK)
        failure = NotText("not UTF-8", offset)
    data = b""
    # raised outside the handler, because the exception chain and its frames would contain the bytes
    raise failure from None
