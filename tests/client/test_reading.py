"""Wire bodies as requests, and assumptions checked against a service."""

import json
from pathlib import Path
from typing import Any

import httpx
import pytest

import workbench as wb
from tests.client.doubles import CARD, TRANSACTION, Service, client_on
from tests.conftest import RECORDED, SAMPLES
from workbench.base.errors import (
    AdviceWarning,
    Forbidden,
    InvalidArguments,
    InvalidRequest,
    NotFound,
    NotSent,
    ServiceFailure,
    Unauthorized,
    UnexpectedAnswer,
)
from workbench.base.schema import strict_json
from workbench.base.schema.rules import FULL
from workbench.base.schema.walk import given
from workbench.client.calls.probe import Verdict
from workbench.service.interface.convert import converter
from workbench.service.interface.table import OPERATIONS

CLIENT = client_on(Service({}))
REQUESTS = [path for folder in (SAMPLES, RECORDED) for path in sorted(folder.glob("*.request*.json"))]


@pytest.mark.parametrize("kind", [bytes, str, dict], ids=["bytes", "str", "mapping"])
def test_a_body_is_read_in_any_form(kind: Any) -> None:
    """A wire body becomes the request, from bytes, text or a mapping."""
    body: Any = {"amount": 2500}
    body = json.dumps(body).encode() if kind is bytes else json.dumps(body) if kind is str else body
    request = CLIENT.from_wire("simulate_refund", body, transaction_id=TRANSACTION)

    assert request == OPERATIONS["simulate_refund"].request(transaction_id=TRANSACTION, amount=2500)


def test_an_absent_amount_is_the_full_one() -> None:
    """What leaving an amount out means on the wire has its name in the request."""
    assert CLIENT.from_wire("simulate_refund", {}, transaction_id=TRANSACTION).amount is FULL
    assert CLIENT.from_wire("simulate_reversal", None, transaction_id=TRANSACTION).new_amount is FULL


def test_a_query_is_read() -> None:
    """For operations with a query, the body is the query."""
    request = CLIENT.from_wire("list_rewards_activity", {"userId": CARD, "limit": "7"})

    assert given(request) == {"user_id": CARD, "limit": 7}


def test_unknown_members_are_reported() -> None:
    """A member the interface does not know is left out, with a warning that names it."""
    with pytest.warns(AdviceWarning, match="does not know color"):
        request = CLIENT.from_wire("update_user", {"firstName": "Grace", "color": "red"}, user_id=CARD)

    assert given(request) == {"user_id": CARD, "first_name": "Grace"}


def test_names_of_a_client_are_used() -> None:
    """Read through the method of a client, its wire names hold."""
    client = client_on(Service({}), wire_names={"update_user.first_name": "givenName"})
    request = client.from_wire(client.update_user, {"givenName": "Grace"}, user_id=CARD)

    assert request.first_name == "Grace"


@pytest.mark.parametrize(
    "body, words",
    [(b"{", "cannot be read"), ("[]", "JSON object"), (b"\xff", "not UTF-8"), (7, "JSON text or an object"),
     ('{"firstName":null}', "first_name must not be null"), ('{"address":7}', "address must be an object"), ('{"a":1,"a":2}', "duplicate"),
     ("\ud800", "cannot be read")],
    ids=map(str, range(8)),
)  # fmt: skip
def test_invalid_bodies_are_refused(body: Any, words: str) -> None:
    """What is not a body of the operation is refused with where."""
    with pytest.raises(InvalidRequest, match=words):
        CLIENT.from_wire("update_user", body, user_id=CARD)


def test_unknown_operations_and_paths_are_refused() -> None:
    """An unknown operation, or an argument that is not part of the path, is refused with what there is."""
    with pytest.raises(InvalidArguments, match="known: list_contracts"):
        CLIENT.from_wire("nothing", {})
    with pytest.raises(InvalidArguments, match="user is not part of the path; there are user_id"):
        CLIENT.from_wire("update_user", {}, user=CARD)
    with pytest.raises(InvalidArguments, match="there is none"):
        CLIENT.from_wire("list_contracts", {}, user=CARD)


@pytest.mark.parametrize("path", REQUESTS, ids=lambda path: f"{path.parents[1].name}-{path.name}")
def test_samples_are_read_without_loss(path: Path) -> None:
    """Each sample of a request is read, and is written again as the same members."""
    row = OPERATIONS[path.name.partition(".")[0]]
    request = CLIENT.from_wire(row, path.read_bytes())
    _, written = converter().write_request(row, request)

    asked = json.loads(path.read_text())
    assert json.loads(strict_json.dumps(written)) == asked


# assumptions


def test_the_sandbox_keeps_its_assumptions() -> None:
    """On the sandbox, which is built on the assumptions, none is contradicted, and nothing has an effect."""
    api = wb.connect()
    found = api.verify_assumptions(user_id=api.sandbox.guide()["rewards_users"][0]["id"])

    assert found.of(Verdict.CONTRADICTED) == ()
    assert len(found.of("confirmed")) >= 8
    assert {one.id for one in found} == {assumption.id for assumption in wb.assumptions()}
    assert len(api.journal) == 0
    assert "untested: " in str(found)


def _service(items: Any) -> Any:
    def answer(request: httpx.Request) -> httpx.Response:
        if "contracts" in request.url.path:
            return httpx.Response(200, json=[])
        return httpx.Response(200, json={"items": items(request.url.params)})

    return client_on(answer)


def test_wrong_names_are_found() -> None:
    """A service that ignores limit and offset contradicts those assumptions, with the line of the profile to change."""
    rows = [{"type": "earned", "id": str(i), "createdAt": f"2026-01-{i + 1:02}T00:00:00Z"} for i in range(5)]
    found = {one.id: one for one in _service(lambda _: rows).verify_assumptions(user_id=CARD)}

    for name in ("limit", "offset"):
        one = found[f"list_rewards_activity.{name}"]
        assert one.verdict is Verdict.CONTRADICTED
        assert f'wire_names."list_rewards_activity.{name}"' in one.change
    assert found["rewards_order"].verdict is Verdict.CONTRADICTED
    assert str(found["rewards_order"]).startswith("contradicted: ")


@pytest.mark.parametrize(
    "rate, verdict",
    [(None, Verdict.UNTESTED), (0, Verdict.UNTESTED), (1, Verdict.UNTESTED), (80, Verdict.CONFIRMED),
     (100, Verdict.CONFIRMED), (0.8, Verdict.CONTRADICTED), (101, Verdict.UNTESTED)],
)  # fmt: skip
def test_advance_rates_are_percentages_or_fractions(rate: float | None, verdict: Verdict) -> None:
    """A rate below 1 shows fractions, one above shows percentages; 0, 1 and what is neither show nothing."""
    contract = json.loads((SAMPLES / "list_contracts.200.json").read_text())[0]
    contract["tokens"] = [{**contract["tokens"][0], "advanceRate": rate}]
    found = client_on(lambda _: httpx.Response(200, json=[contract])).verify_assumptions()

    assert next(one.verdict for one in found if one.id == "token.advance_rate") is verdict


@pytest.mark.parametrize(
    "answer, error",
    [
        (401, Unauthorized), (403, Forbidden), (404, NotFound), (500, ServiceFailure), (httpx.ConnectError("x"), NotSent),
        (httpx.Response(200, content=b"<html>"), UnexpectedAnswer),
    ],
    ids=repr,
)  # fmt: skip
def test_a_service_that_cannot_be_read_is_an_error(answer: Any, error: type[Exception]) -> None:
    """A probe of a service that refuses the first read, or does not answer it, fails with what happened."""
    with pytest.raises(error):
        client_on(Service(answer)).verify_assumptions(user_id=CARD)


def test_a_bad_request_is_an_answer() -> None:
    """A service that refuses reads with 400 is there; what that shows is reported."""
    found = client_on(Service(400)).verify_assumptions()

    assert {one.id for one in found.of("contradicted")} == {"list_rewards_activity.user_id", "validation_errors"}
