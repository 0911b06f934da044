"""Parsing of wire bodies as requests."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.client.doubles import CARD, TRANSACTION, Service, client_on
from tests.conftest import RECORDED, SAMPLES
from tests.each import each
from workbench.base.errors import (
    AdviceWarning,
    InvalidArguments,
    InvalidRequest,
)
from workbench.base.schema import strict_json
from workbench.base.schema.rules import FULL
from workbench.base.schema.walk import given
from workbench.service.interface.convert import converter
from workbench.service.interface.table import OPERATIONS

CLIENT = client_on(Service({}))
REQUESTS = [path for folder in (SAMPLES, RECORDED) for path in sorted(folder.glob("*.request*.json"))]


@pytest.mark.parametrize("kind", [bytes, str, dict], ids=["bytes", "str", "mapping"])
def test_a_body_is_read_in_any_form(kind: Any) -> None:
    """A wire body becomes a request from bytes, text or a mapping."""
    body: Any = {"amount": 2500}
    body = json.dumps(body).encode() if kind is bytes else json.dumps(body) if kind is str else body
    request = CLIENT.from_wire("simulate_refund", body, transaction_id=TRANSACTION)

    assert request == OPERATIONS["simulate_refund"].request(transaction_id=TRANSACTION, amount=2500)


def test_an_absent_amount_is_the_full_one() -> None:
    """A missing amount on the wire becomes FULL in the request."""
    assert CLIENT.from_wire("simulate_refund", {}, transaction_id=TRANSACTION).amount is FULL
    assert CLIENT.from_wire("simulate_reversal", None, transaction_id=TRANSACTION).new_amount is FULL


def test_a_query_is_read() -> None:
    """For operations with a query, the body is the query."""
    request = CLIENT.from_wire("list_rewards_activity", {"userId": CARD, "limit": "7"})

    assert given(request) == {"user_id": CARD, "limit": 7}


def test_unknown_members_are_reported() -> None:
    """An undocumented member is omitted with a warning that names it."""
    with pytest.warns(AdviceWarning, match="undocumented members, which are not sent: color"):
        request = CLIENT.from_wire("update_user", {"firstName": "Grace", "color": "red"}, user_id=CARD)

    assert given(request) == {"user_id": CARD, "first_name": "Grace"}


def test_names_of_a_client_are_used() -> None:
    """A client parses bodies with its own wire names."""
    client = client_on(Service({}), wire_names={"update_user.first_name": "givenName"})
    request = client.from_wire(client.update_user, {"givenName": "Grace"}, user_id=CARD)

    assert request.first_name == "Grace"


@each(
    "body, words",
    [(b"{", "cannot be read"), ("[]", "JSON object"), (b"\xff", "not UTF-8"), (7, "JSON text or an object"),
     ('{"firstName":null}', "first_name must not be null"), ('{"address":7}', "address must be an object"), ('{"a":1,"a":2}', "duplicate"),
     ("\ud800", "cannot be read")],
    ids=map(str, range(8)),
)  # fmt: skip
def test_invalid_bodies_are_refused(body: Any, words: str) -> None:
    """An invalid body is refused, and the error names the place."""
    with pytest.raises(InvalidRequest, match=words):
        CLIENT.from_wire("update_user", body, user_id=CARD)


def test_unknown_operations_and_paths_are_refused() -> None:
    """An unknown operation or path argument is refused with the list of known names."""
    with pytest.raises(InvalidArguments, match="known: list_contracts"):
        CLIENT.from_wire("nothing", {})
    with pytest.raises(InvalidArguments, match=r"user is not a path parameter \(path parameters: user_id"):
        CLIENT.from_wire("update_user", {}, user=CARD)
    with pytest.raises(InvalidArguments, match="this operation has none"):
        CLIENT.from_wire("list_contracts", {}, user=CARD)


@each("path", REQUESTS, ids=lambda path: f"{path.parents[1].name}-{path.name}")
def test_samples_are_read_without_loss(path: Path) -> None:
    """Each sample of a request is parsed and written back with the same members."""
    row = OPERATIONS[path.name.partition(".")[0]]
    request = CLIENT.from_wire(row, path.read_bytes())
    _, written = converter().write_request(row, request)

    asked = json.loads(path.read_text())
    assert json.loads(strict_json.dumps(written)) == asked
