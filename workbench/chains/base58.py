"""Base58 with Bitcoin's alphabet, as Solana writes addresses; it has no check sum of its own."""

ALPHABET = "123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz"
_DIGIT = {character: value for value, character in enumerate(ALPHABET)}
_LONGEST = 256  # decoding is quadratic, and nothing we read is longer


def base58_encode(data: bytes) -> str:
    """Write bytes in base58; each leading zero byte is a leading `1`."""
    number = int.from_bytes(data)
    digits = []
    while number:
        number, digit = divmod(number, 58)
        digits.append(ALPHABET[digit])
    return "1" * (len(data) - len(data.lstrip(b"\0"))) + "".join(reversed(digits))


def base58_decode(text: str) -> bytes:
    """Read bytes from base58.

    Raises:
        ValueError: A character is not of the alphabet, or the text is longer than anything written this way here.
    """
    if len(text) > _LONGEST:
        raise ValueError(f"longer than {_LONGEST} characters")
    number = 0
    for position, character in enumerate(text, 1):
        if character not in _DIGIT:
            raise ValueError(f"character {position} is not one of base58")
        number = number * 58 + _DIGIT[character]
    return b"\0" * (len(text) - len(text.lstrip("1"))) + number.to_bytes((number.bit_length() + 7) // 8)
