"""Curve arithmetic for signatures on secp256k1 (EVM) and Ed25519 (Solana, Stellar), with pycryptodome.

Versions of pycryptodome before 4.4 lack secp256k1, which this module then computes in Python. The Python computation is
not constant-time, so only throw-away keys sign here.
"""

import hmac
import os
import threading
from collections.abc import Callable, Iterator
from functools import cache
from hashlib import sha512
from types import ModuleType
from typing import Any

ORDER = 0xFFFFFFFF_FFFFFFFF_FFFFFFFF_FFFFFFFE_BAAEDCE6_AF48A03B_BFD25E8C_D0364141
HALF = ORDER // 2
_PRIME = (1 << 256) - (1 << 32) - 977
_ROOT = (_PRIME + 1) // 4  # exponent with which a square root is computed
_BASE = (
    0x79BE667E_F9DCBBAC_55A06295_CE870B07_029BFCDB_2DCE28D9_59F2815B_16F81798,
    0x483ADA77_26A3C465_5DA4FBFC_0E1108A8_FD17B448_A6855419_9C47D08F_FB10D4B8,
)
_Point = tuple[int, int]
_Jacobian = tuple[int, int, int]  # x, y, z of the point (x/z², y/z³); z is 0 for the neutral element
_NEUTRAL: _Jacobian = (1, 1, 0)
_SWITCH = "PYCRYPTODOME_DISABLE_GMP"
_LOADING = threading.Lock()


@cache
def _library() -> tuple[ModuleType, Callable[..., Any]]:
    """Return the Ed25519 module and the point class, which are loaded on first use.

    By default, the library searches for GMP by running other programs (ldconfig, a compiler). The environment variable
    set here makes the library use its built-in integers instead.
    """
    with _LOADING:
        given = os.environ.get(_SWITCH)
        os.environ[_SWITCH] = "1"
        try:
            from Crypto.PublicKey.ECC import EccPoint
            from Crypto.Signature import eddsa
        finally:
            del os.environ[_SWITCH]
            if given is not None:
                os.environ[_SWITCH] = given
    return eddsa, EccPoint


def public_point(secret: bytes) -> _Point | None:
    """Return the public key of a secp256k1 private key, or None if the private key is out of range."""
    number = int.from_bytes(secret)
    return _combined(number, 0, _BASE) if 0 < number < ORDER else None


def signed(digest: bytes, secret: bytes) -> tuple[int, int, int]:
    """Return a signature as r, s and the parity of y. The nonce follows RFC 6979, and s is the lower valid value."""
    number = int.from_bytes(digest) % ORDER
    key = int.from_bytes(secret)
    for nonce in _nonces(number, secret):
        point = _combined(nonce, 0, _BASE)
        assert point is not None  # the nonce is between 0 and the order, so the product is not the neutral element
        r, y = point
        inverse = pow(nonce, -1, ORDER)
        s = inverse * (number + r * key) % ORDER
        is_odd = y % 2
        if s > HALF:
            s = ORDER - s
            is_odd = 1 - is_odd
        if r < ORDER and s != 0:  # the first attempt nearly always succeeds
            return r, s, is_odd
    raise AssertionError  # unreachable, because another nonce is always available


def recovered(digest: bytes, r: int, s: int, is_odd: int) -> _Point | None:
    """Return the public key that verifies a signature of a digest, or None if no key does."""
    square = pow(r, 3, _PRIME) + 7
    y = pow(square, _ROOT, _PRIME)
    if (y * y - square) % _PRIME:
        return None
    if y % 2 != is_odd:
        y = _PRIME - y
    number = int.from_bytes(digest)
    inverse = pow(r, -1, ORDER)
    return _combined(-number * inverse, s * inverse, (r, y))


def _nonces(number: int, secret: bytes) -> Iterator[int]:
    """Yield the nonces of RFC 6979, derived with HMAC-SHA256 from a reduced digest and a key."""
    drawn_from = secret + number.to_bytes(32)
    key = bytes(32)
    value = b"\1" * 32
    for step in (b"\0" + drawn_from, b"\1" + drawn_from):
        key = hmac.digest(key, value + step, "sha256")
        value = hmac.digest(key, value, "sha256")
    while True:
        value = hmac.digest(key, value, "sha256")
        nonce = int.from_bytes(value)
        if 0 < nonce < ORDER:
            yield nonce
        key = hmac.digest(key, value + b"\0", "sha256")
        value = hmac.digest(key, value, "sha256")


def _combined(a: int, b: int, point: _Point) -> _Point | None:
    """Return `a` times the base point plus `b` times another point, or None for the neutral point."""
    _, point_of = _library()
    a %= ORDER
    b %= ORDER
    try:
        base = point_of(*_BASE, curve="secp256k1")
        other = point_of(*point, curve="secp256k1")
    except ValueError:  # pycryptodome before 4.4 lacks the curve
        return in_python(a, b, point)
    total = base * a + other * b
    if total.is_point_at_infinity():
        return None
    return int(total.x), int(total.y)


def in_python(a: int, b: int, point: _Point) -> _Point | None:
    """Return `a` times the base point plus `b` times another point, or None for the neutral point.

    The factors are processed bit by bit.
    """
    base: _Jacobian = (*_BASE, 1)
    other: _Jacobian = (*point, 1)
    summands = {
        ("0", "0"): _NEUTRAL,
        ("0", "1"): other,
        ("1", "0"): base,
        ("1", "1"): _added(base, other),
    }
    total = _NEUTRAL
    for bits in zip(f"{a:0256b}", f"{b:0256b}", strict=True):
        total = _added(_doubled(total), summands[bits])
    x, y, z = total
    if z == 0:
        return None
    inverse = pow(z, -1, _PRIME)
    square = inverse * inverse
    x *= square
    y *= square * inverse
    return x % _PRIME, y % _PRIME


def _doubled(point: _Jacobian) -> _Jacobian:
    """Return the double of a point. The double of the neutral point is the neutral point."""
    x, y, z = point
    slope = 3 * x * x % _PRIME
    square = 2 * y * y
    middle = 2 * x * square
    new_x = slope * slope - 2 * middle
    new_y = slope * (middle - new_x)
    new_y -= 2 * square * square
    new_z = 2 * y * z
    return new_x % _PRIME, new_y % _PRIME, new_z % _PRIME


def _added(a: _Jacobian, b: _Jacobian) -> _Jacobian:
    """Return the sum of two points. `run` and `rise` are the differences of their x and y coordinates."""
    x1, y1, z1 = a
    x2, y2, z2 = b
    if z2 == 0:
        return a
    if z1 == 0:
        return b
    square1 = z1 * z1
    square2 = z2 * z2
    left_x = x1 * square2
    left_y = y1 * square2 * z2
    right_x = x2 * square1
    right_y = y2 * square1 * z1
    run = (right_x - left_x) % _PRIME
    rise = (right_y - left_y) % _PRIME
    if run == 0:  # the points are equal or opposite
        return _NEUTRAL if rise else _doubled(a)
    run_squared = run * run
    run_cubed = run_squared * run % _PRIME
    middle = left_x * run_squared % _PRIME
    new_x = rise * rise
    new_x -= run_cubed + 2 * middle
    new_y = rise * (middle - new_x)
    new_y -= left_y * run_cubed
    new_z = run * z1 * z2
    return new_x % _PRIME, new_y % _PRIME, new_z % _PRIME


# Ed25519

_ED_PRIME = (1 << 255) - 19
_ED_ORDER = (1 << 252) + 27742317777372353535851937790883648493
_ED_BASE = (
    15112221349535400772501151409588531511454012693041857206046113283949847762202,
    46316835694926478169428394003475163141307993866256225615783033603165251855960,
)
_EIGHTH = 0x7A03AC92_77FDC74E_C6CC392C_FA53202A_0F67100D_760B3CBA_4FD84D3D_706A17C7
_SMALL_ORDER = frozenset((0, 1, _ED_PRIME - 1, _EIGHTH, _ED_PRIME - _EIGHTH))
"""y coordinates of all points of order 1, 2, 4 and 8. Anybody can forge signatures for a public key of small order."""


def ed25519_public_key(secret: bytes) -> bytes:
    """Return the 32-byte public key that belongs to a 32-byte Ed25519 seed."""
    eddsa, _ = _library()
    key = eddsa.import_private_key(secret)
    public: bytes = key.public_key().export_key(format="raw")
    return public


def ed25519_signed(message: bytes, secret: bytes) -> bytes:
    """Return the signature of a message, made with a 32-byte Ed25519 seed."""
    eddsa, _ = _library()
    key = eddsa.import_private_key(secret)
    raw: bytes = eddsa.new(key, "rfc8032").sign(message)
    return raw


def ed25519_verifies(key: bytes, message: bytes, signature: bytes) -> bool:
    """Return whether a signature is valid. R must match exactly, as in libsodium and Solana.

    The library's own check also accepts keys of small order and multiplies by eight, but chains do not.
    """
    eddsa, point_of = _library()
    point = signature[:32]
    factor = int.from_bytes(signature[32:], "little")
    if factor >= _ED_ORDER or not (_is_sound(key) and _is_sound(point)):
        return False
    try:
        public = eddsa.import_public_key(key).pointQ
    except ValueError:  # no point of the curve has this encoding
        return False
    hashed = sha512(point + key + message).digest()
    number = int.from_bytes(hashed, "little") % _ED_ORDER
    base = point_of(*_ED_BASE, curve="Ed25519")
    expected = base * factor + -public * number
    sign = int(expected.x) % 2
    encoded = int(expected.y) | sign << 255
    return point == encoded.to_bytes(32, "little")


def _is_sound(encoded: bytes) -> bool:
    """Return whether a point has a reduced encoding and is not of small order."""
    y = int.from_bytes(encoded, "little") % (1 << 255)
    return y < _ED_PRIME and y not in _SMALL_ORDER
