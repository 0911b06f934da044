"""Tables of cases: empty cells, text to value, and value to text."""

import re
from datetime import UTC, date, datetime
from decimal import Decimal
from enum import StrEnum
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.each import each
from tests.strategies import requests
from workbench.base.schema.readers import is_empty, text_of, value_of
from workbench.base.schema.rules import FULL
from workbench.base.schema.walk import get_path, leaves, member
from workbench.base.schema.walk import given as given_members
from workbench.service.interface import contracts, people, transactions
from workbench.service.interface.table import OPERATIONS
from workbench.service.interface.vocabulary import DeclineReason


class Word(StrEnum):
    """An enum that no record uses."""

    EMPTY = ""


@each("value,empty", [
    (None, True), ("", True), ("  ", True), ("\t\n", True), ("\u00a0", True), (Word.EMPTY, True),
    (float("nan"), True), (Decimal("NaN"), True), (Decimal("sNaN"), True), (np.float64("nan"), True),
    (np.float32("nan"), True), (np.datetime64("NaT"), True), (pd.NA, True), (pd.NaT, True),
    (0, False), (0.0, False), (Decimal(0), False), (False, False), ("0", False), ("NA", False), ("nan", False),
    ("None", False), ([], False), ({}, False), ((), False), (FULL, False), (float("inf"), False), (b"", False),
    (np.int64(0), False), (np.array([float("nan")]), False), (pd.Timestamp(0), False),
], ids=lambda value: f"{type(value).__name__} {value!r}")  # fmt: skip
def test_empty_cells(value: Any, empty: bool) -> None:
    """None, blank text and every NaN are empty. Zero, False and other text are not."""
    assert is_empty(value) is empty


AMOUNT = (transactions.SimulateAuthorization, "amount")
REFUND = (transactions.SimulateRefund, "amount")
LIMIT = (transactions.ListRewardsActivity, "limit")
NATIVE = (contracts.SignWithdrawal, "is_amount_native")
REASON = (transactions.SimulateAuthorization, "decline_reason")
NAME = (transactions.SimulateAuthorization, "merchant_name")
BORN = (people.UpdateUbo, "birth_date")
CREATED = (people.PaymentAccount, "created_at")
RATE = (contracts.Token, "exchange_rate")
VERSION = (contracts.IssuingContract, "contract_version")
ADMINS = (contracts.IssuingContract, "admin_addresses")


@each("field,text,value", [
    (AMOUNT, "1099", 1099), (AMOUNT, "-5", -5), (AMOUNT, "007", 7), (REFUND, "FULL", FULL), (REFUND, "0", 0), (LIMIT, "20", 20),
    (NATIVE, "true", True), (NATIVE, "False", False), (NATIVE, "YES", True), (NATIVE, "no", False),
    (REASON, "card_locked", DeclineReason.CARD_LOCKED), (NAME, "", ""), (NAME, " 0742 ", " 0742 "), (NAME, "NA", "NA"),
    (BORN, "1990-02-01", date(1990, 2, 1)), (RATE, "0.10", Decimal("0.10")), (VERSION, "2", 2), (VERSION, "2.5", Decimal("2.5")),
    (CREATED, "2026-01-02T03:04:05Z", datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)),
    (CREATED, "2026-01-02T05:04:05+02:00", datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)),
    (ADMINS, "0xa, 0xb", ("0xa", "0xb")),
])  # fmt: skip
def test_text_as_a_value(field: tuple[type[Any], str], text: str, value: Any) -> None:
    """Text becomes a value of the field's kind."""
    read = value_of(member(*field), text)

    assert read == value
    assert type(read) is type(value)


@each("field,text,words", [
    (AMOUNT, "10.99", "10.99 is not a whole number of cents (10.99 USD is 1099)"),
    (AMOUNT, "10.9", "10.9 is not a whole number of cents (10.9 USD is 1090)"),
    (AMOUNT, "FULL", "must be a whole number of cents"), (AMOUNT, "1e3", "must be a whole number of cents"),
    (AMOUNT, "١٠", "must be a whole number of cents"), (AMOUNT, "1_000", "must be a whole number of cents"),
    (AMOUNT, "", "must be a whole number of cents"), (AMOUNT, "9" * 401, "must be a whole number of cents"),
    (REFUND, "all", "must be a whole number of cents, or FULL"), (LIMIT, "many", "must be a whole number"),
    (NATIVE, "1", "must be true or false"), (NATIVE, "", "must be true or false"),
    (REASON, "because", "must be one of account_credit_limit_exceeded, card_locked"),
    (BORN, "01.02.1990", "must be a date written YYYY-MM-DD"), (BORN, "1990-02-31", "is not a day of the calendar"),
    (RATE, "NaN", "must be a decimal number"), (RATE, "1,5", "must be a decimal number"), (VERSION, "two", "must be a decimal number"),
    (CREATED, "yesterday", "must be a time with a zone, such as 2026-01-02T03:04:05Z"),
    (CREATED, "2026-01-02T03:04:05", "must be a time with a zone, such as 2026-01-02T03:04:05Z"),
    ((people.User, "address"), "12 Example Street", "cannot be passed as text"),
])  # fmt: skip
def test_text_that_does_not_fit(field: tuple[type[Any], str], text: str, words: str) -> None:
    """Text that does not fit raises an error with the rule and no private value."""
    with pytest.raises(ValueError, match=f"^{re.escape(words)}"):
        value_of(member(*field), text)


@each("field,value,text", [
    (AMOUNT, 1099, "1099"), (AMOUNT, None, ""), (REFUND, FULL, "FULL"), (NATIVE, True, "true"), (NATIVE, False, "false"),
    (REASON, DeclineReason.CARD_LOCKED, "card_locked"), (NAME, " x ", " x "), (BORN, date(1990, 2, 1), "1990-02-01"),
    (BORN, "1990-02-01", "1990-02-01"), (RATE, Decimal("1E+2"), "100"), (RATE, Decimal("0.10"), "0.10"),
    (CREATED, datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC), "2026-01-02T03:04:05.000Z"), (ADMINS, ("0xa", "0xb"), "0xa, 0xb"),
])  # fmt: skip
def test_a_value_as_text(field: tuple[type[Any], str], value: Any, text: str) -> None:
    """A value is written as text that `value_of` reads back."""
    assert text_of(member(*field), value) == text


@pytest.mark.parametrize("operation", OPERATIONS.values(), ids=lambda row: row.name)
@given(data=st.data())
def test_every_value_of_a_request_comes_back_from_its_text(operation: Any, data: st.DataObject) -> None:
    """Every value of every request is equal after a round trip through text."""
    request = data.draw(requests(operation, plain=False))
    for path, one in leaves(operation.request):
        value = get_path(request, path)
        if value is None or hasattr(value, "__attrs_attrs__"):
            continue
        assert text_of(one, value_of(one, text_of(one, value))) == text_of(one, value)


@each("path,value", [
    ("id", "u"), ("address.line1", "12 Example Street"), ("address.postal_code", "12345"), ("address.postalCode", "12345"),
    ("address.none", None), ("address", {"line1": "12 Example Street", "postalCode": "12345"}), ("id.more", None),
    ("owners.1.first_name", "Ben"), ("owners.1.firstName", "Ben"), ("owners.2.id", None), ("owners.-1.id", None), ("", None),
])  # fmt: skip
def test_paths_through_mappings(path: str, value: Any) -> None:
    """A path goes through mappings and lists, by attribute names and wire names."""
    body = {
        "id": "u", "address": {"line1": "12 Example Street", "postalCode": "12345"},
        "owners": [{"first_name": "Ada"}, {"firstName": "Ben"}],
    }  # fmt: skip

    assert get_path(body, path) == value


def test_paths_through_records() -> None:
    """A path goes through records as through mappings, and reaches only members."""
    address = people.Address(line1="x", city="c", region="r", postal_code="1", country_code="US")
    user = people.User(id="u", address=address)

    assert get_path(user, "address.postal_code") == get_path({"user": user}, "user.address.postalCode") == "1"
    assert get_path(user, "__class__") is get_path(user, "address.extra.x") is get_path(user, "none") is None
    assert given_members(user).keys() == {"id", "address"}
