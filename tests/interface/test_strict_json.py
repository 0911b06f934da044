"""Strict JSON: exact numbers, unique members, and one error for invalid or ambiguous text."""

import contextlib
import copy
import json
import pickle
import subprocess
import sys
import time
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.each import each
from tests.strategies import JSON
from workbench.base.schema.strict_json import JsonObject, NotJson, Repaired, dumps, loads


@given(JSON)
def test_round_trip(value: Any) -> None:
    """A written value is equal when read back."""
    assert value == loads(dumps(value))


@given(st.decimals(-(10**6), 10**6, places=6))
def test_fractions_are_exact(number: Decimal) -> None:
    """A number is the exact decimal of its text, not a nearby float."""
    assert number == Decimal(loads(str(number).encode()))


@given(st.binary(max_size=40))
def test_any_bytes_end_in_a_value_or_one_error(data: bytes) -> None:
    """Any bytes give a value or NotJson."""
    with contextlib.suppress(NotJson):
        assert dumps(loads(data))


def test_the_chain_of_an_error_is_cut() -> None:
    """The parser's error contains the text, so it is not chained."""
    with pytest.raises(NotJson) as error:
        loads(b'{"nationalId": "900000001"')

    assert error.value.__cause__ is None
    assert error.value.__suppress_context__


@each(
    "data,reason",
    [
        (b"", "not JSON: Expecting value (at byte 0)"),
        (b"  ", "not JSON: Expecting value (at byte 2)"),
        (b'{"a": }', "not JSON: Expecting value (at byte 6)"),
        (b"{} {}", "not JSON: Extra data (at byte 3)"),
        ('{"é": }'.encode(), "not JSON: Expecting value (at byte 7)"),
        (b'{"a": 1, "a": 2}', "duplicate member in an object"),
        (b'{"x": {"a": 1, "a": 1}}', "duplicate member in an object"),
        (b"NaN", "NaN is not a JSON number"),
        (b"[Infinity]", "Infinity is not a JSON number"),
        (b"[-Infinity]", "-Infinity is not a JSON number"),
        (b"\xef\xbb\xbf{", "not JSON: Expecting property name enclosed in double quotes (at byte 4)"),
        ('{"a": 1}'.encode("utf-16"), "UTF-16 instead of UTF-8"),
        ('{"a": 1}'.encode("utf-16-le"), "not UTF-8, but UTF-16 or not text"),
        ('{"a": 1}'.encode("utf-32"), "UTF-32 instead of UTF-8"),
        (b'{"a": "\xff"}', "not UTF-8 (at byte 7)"),
        (b'"\\ud800"', "half of a surrogate pair in a text"),
        (b'{"\\udfff": 1}', "half of a surrogate pair in a text"),
        (b'"\x01"', "not JSON: Invalid control character at (at byte 1)"),
        (b"[" * 100_000, "nested too deeply"),
        (b"[" * 100_000 + b"]" * 100_000, "nested too deeply"),
        (b'{"a":' * 100_000, "nested too deeply"),
        (b"9" * 5_000, "a number has too many digits"),
        (b"0." + b"9" * 5_000, "a number has 5,002 digits"),
        (b"1e999999999", "a number is out of range"),
        (b"1E-999999999", "a number is out of range"),
        (b"1e99999999999999999999", "a number is out of range"),
        (b"<html>", "not JSON: Expecting value (at byte 0)"),
    ],
    ids=range(27),
)
def test_what_has_no_single_meaning(data: bytes, reason: str) -> None:
    """Invalid or ambiguous text is refused with its reason, and its position if there is one."""
    with pytest.raises(NotJson) as error:
        loads(data)

    assert reason == str(error.value)


@each(
    "data,expected",
    [
        (b' {"a": 1}\n', {"a": 1}),
        (b'"\\ud83d\\ude00"', "😀"),
        (b'"\\\\ud800"', "\\ud800"),
        (b"1e2", Decimal(100)),
        (b"1.50", Decimal("1.50")),
        (b"9" * 400, int("9" * 400)),
        (b"null", None),
        (b"[]", []),
    ],
    ids=range(8),
)
def test_what_has_one(data: bytes, expected: Any) -> None:
    """Surrounding white space, escaped pairs and large numbers are accepted."""
    assert expected == loads(data)


def test_an_object_prints_its_size_alone() -> None:
    """A wire object prints only its size, also inside other objects and as a copy."""
    made = loads(b'{"nationalId": "900000001", "inner": {"a": 1}}')

    assert "<2 members>" == repr(made) == str(made) == f"{made}"
    assert str([made]) == "[<2 members>]"
    for again in (copy.copy(made), copy.deepcopy(made), pickle.loads(pickle.dumps(made))):
        assert JsonObject is type(again)
        assert made == again
    assert JsonObject is type(made["inner"])


@each(
    "value,expected",
    [
        (Decimal("0.1"), b"0.1"),
        (Decimal("1250.0"), b"1250"),
        (Decimal("1E+2"), b"100"),
        ({"a": Decimal("0.157285")}, b'{"a":0.157285}'),
        ("é", '"é"'.encode()),
        (0, b"0"),
        (2**256, str(2**256).encode()),
    ],
)
def test_numbers_are_written_exactly(value: Any, expected: bytes) -> None:
    """A decimal is written as an exact number."""
    assert expected == dumps(value)


@pytest.mark.parametrize(
    "value", [Decimal("0.12345678901234567890"), Decimal("NaN"), Decimal("1e999999999"), float("nan"), float("inf")]
)
def test_numbers_that_cannot_be_written(value: Any) -> None:
    """A number that JSON cannot represent is refused, before it becomes a very long text."""
    with pytest.raises(ValueError):  # noqa: PT011 - the message differs between Python versions
        dumps(value)


@pytest.mark.parametrize("text", ['b"[" * 100_000', """b'{"a":' * 100_000"""], ids=["lists", "objects"])
def test_depth_is_ours_where_the_limit_was_raised(text: str) -> None:
    """Deep nesting is refused and does not end the process, even if a library raised Python's recursion limit."""
    script = f"""
import sys
import time
sys.setrecursionlimit(1_000_000)
from workbench.base.schema.strict_json import NotJson, loads
try:
    loads({text})
except NotJson as error:
    print(error)
print(loads(b'["' + b"[" * 5_000 + b'", ' + b"[]," * 5_000 + b"1]")[-1])
"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)

    assert ["nested too deeply", "1"] == done.stdout.splitlines()


@pytest.mark.parametrize("text", [b'"' + b'\\"' * 48_000, b'"\\' + b'\n"' * 48_000, b'"' + b"\\\\" * 48_000])
def test_depth_is_checked_in_linear_time(text: bytes) -> None:
    """An unterminated text is read in linear time, even with a raised recursion limit (it took 53 s)."""
    limit = sys.getrecursionlimit()
    sys.setrecursionlimit(10_000)
    try:
        started = time.thread_time()
        with pytest.raises(NotJson, match="not JSON"):
            loads(b"[" + b"[]," * 1_001 + text)
        assert time.thread_time() - started < 2
    finally:
        sys.setrecursionlimit(limit)


@pytest.mark.parametrize("data", [b'{"a": "\\u00e9"}', b'[1, "x"]', '"é"'.encode()])
def test_a_byte_order_mark_does_not_belong_to_the_text(data: bytes) -> None:
    """A byte order mark, as written by PowerShell, Notepad and .NET, is ignored."""
    assert loads(b"\xef\xbb\xbf" + data) == loads(data)


@given(st.recursive(st.text() | st.integers(), lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner)))
def test_repair_changes_only_broken_text(value: Any) -> None:
    """With `repair`, valid JSON is unchanged, and half surrogate pairs become marked texts with U+FFFD."""
    text = json.dumps(value).encode()
    cut = json.dumps([value, "a\ud83c", "a\U0001f355"]).encode()

    assert loads(text, repair=True) == loads(text)
    again, half, pair = loads(cut, repair=True)
    assert again == loads(text)
    assert (half, type(half), pair, type(pair)) == ("a\ufffd", Repaired, "a\U0001f355", str)
