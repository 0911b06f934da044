"""Amounts have a unit and are exact. Other values are refused in one sentence."""

from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

import workbench as wb
from tests.each import each
from workbench.base.errors import UsageError
from workbench.client.withdrawals.amounts import Cents, NativeUnits, decimal_text, in_both_units, in_sentence

ONE = Decimal(1)
BAD_CENTS = {
    "a float": 25.0, "a sum of floats": 0.1 + 0.2, "NaN": float("nan"), "infinity": float("inf"), "an int": 25,
    "True": True, "None": None, "no cents": "25", "one digit": "25.5", "three digits": "25.001", "an exponent": "1e6",
    "commas": "1,000.00", "a blank": " 25.00", "a line break": "25.00\n", "a sign": "-25.00", "nothing": "",
    "nothing to take": "0.00", "a currency": "$25.00", "other digits": "٢٥.٠٠", "decimal NaN": Decimal("NaN"),
    "decimal exponent": Decimal("1E+6"), "decimal of another scale": Decimal(25), "NaN in words": "NaN",
}  # fmt: skip
BAD_NATIVE = {
    "a float": 25e6, "a whole float": 25.0, "NaN": float("nan"), "True": True, "None": None, "an exponent": "1e6",
    "underscores": "25_000_000", "a point": "25.0", "hex": "0x10", "a leading zero": "007", "a decimal": Decimal(25),
    "zero": 0, "minus one": -1, "too large": 1 << 256, "too large as text": str(1 << 256), "a line break": "25\n",
}  # fmt: skip


@each("value", BAD_CENTS.values(), ids=BAD_CENTS)
def test_cents_refuse(value):
    """Only dollars with exactly two decimals are accepted. The error is one sentence without the value."""
    with pytest.raises(UsageError) as caught:
        wb.withdrawals.usd(value)

    assert len(caught.value.problems) == 1
    assert "Nothing was sent" not in str(caught.value)


@each("value", BAD_NATIVE.values(), ids=BAD_NATIVE)
def test_native_refuses(value):
    """Only whole numbers above zero are accepted as native units."""
    with pytest.raises(UsageError) as caught:
        wb.withdrawals.native_units(value)

    assert len(caught.value.problems) == 1


def test_the_units_are_never_mixed():
    """Cents and native units cannot be converted, added or equal."""
    with pytest.raises(UsageError, match="is in cents, not in native units"):
        wb.withdrawals.native_units(wb.withdrawals.usd("25.00"))
    with pytest.raises(UsageError, match="is in native units, not in cents"):
        wb.withdrawals.usd(wb.withdrawals.native_units(2500))
    with pytest.raises(TypeError):
        _ = wb.withdrawals.usd("25.00") + wb.withdrawals.native_units(1)  # type: ignore[operator]

    assert Cents(2500) != NativeUnits(2500)


@pytest.mark.parametrize("key", ["0x" + "5a" * 32, "abandon " * 11 + "about"], ids=["hex", "words"])
def test_a_private_key_is_not_an_amount(key):
    """A text that looks like a private key is refused and not quoted."""
    for make in (wb.withdrawals.usd, wb.withdrawals.native_units):
        with pytest.raises(UsageError, match="Never paste a private key here") as caught:
            make(key)

        assert key[:10] not in str(caught.value)


@given(st.integers(1, 10**30))
def test_cents_are_exact(number):
    """Any number of cents is exact, even beyond the precision of floats."""
    assert Cents(number) == wb.withdrawals.usd(f"{number // 100}.{number % 100:02d}")


@given(st.integers(1, (1 << 256) - 1))
def test_native_units_are_exact(number):
    """Any number up to 256 bits is exact, as int and as text."""
    assert NativeUnits(number) == wb.withdrawals.native_units(number) == wb.withdrawals.native_units(str(number))
    assert in_both_units(NativeUnits(number), 0, ONE).startswith(f"{number:,} unit")


@each(
    "amount, decimals, rate, reading",
    [
        (Cents(2500), 6, ONE, "25.00 USD = 25,000,000 units of a token with 6 decimals"),
        (Cents(2500), 6, Decimal("2650.5"), "25.00 USD = about 9,432 units of a token with 6 decimals, at 2650.5 USD a token; the service's answer states the exact number"),
        (Cents(2500), None, ONE, "25.00 USD; native units unknown without the token's decimals (decimals=…)"),
        (Cents(2500), 6, None, "25.00 USD; native units of a token with 6 decimals unknown: the contract states no rate"),
        (NativeUnits(1_000_000), 6, ONE, "1,000,000 units of a token with 6 decimals = 1 token = 1.00 USD"),
        (NativeUnits(1), 6, ONE, "1 unit of a token with 6 decimals = 0.000001 tokens = less than 0.01 USD"),
        (NativeUnits(10**18), 18, Decimal("2650.5"), "1,000,000,000,000,000,000 units of a token with 18 decimals = 1 token = 2,650.50 USD, at 2650.5 USD a token"),
        (NativeUnits(25), None, ONE, "25 native units; value in dollars unknown without the token's decimals (decimals=…)"),
        (NativeUnits(25), 1, None, "25 units of a token with 1 decimal = 2.5 tokens; the contract states no rate, so the value in dollars is unknown"),
    ],
)  # fmt: skip
def test_both_readings(amount, decimals, rate, reading):
    """An amount is shown in dollars and native units, or with the reason why one is unknown."""
    assert reading == in_both_units(amount, decimals, rate)


def test_within_a_sentence():
    """The short form shows both units if both are known."""
    assert in_sentence(Cents(2500), 6, ONE) == "25.00 USD (25,000,000 native units)"
    assert in_sentence(Cents(2500), None, ONE) == "25.00 USD"
    assert in_sentence(Cents(2500), None, ONE, NativeUnits(7)) == "25.00 USD (7 native units, as the service counts)"
    assert in_sentence(NativeUnits(1), None, None) == "1 native unit"
    assert in_sentence(NativeUnits(25_000_000), 6, ONE) == "25,000,000 native units (25.00 USD)"


@given(st.integers(0, 10**40), st.integers(0, 30))
def test_fractions_are_written_out(number, decimals):
    """A decimal fraction is written completely, without an exponent, and can be parsed back."""
    from fractions import Fraction

    whole = Fraction(number, 10**decimals)

    assert whole == Fraction(decimal_text(whole).replace(",", ""))
