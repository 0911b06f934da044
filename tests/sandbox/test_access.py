"""Keys, roles and the order of the checks. Source: Authentication, Errors."""

import json

import pytest

from tests.each import each
from tests.sandbox.driver import Api
from workbench.sandbox import Sandbox
from workbench.sandbox.internals import internals
from workbench.service.interface.table import OPERATIONS

NOBODY = "00000000-0000-4000-8000-000000000000"
PATHS = [
    (row.method, "/".join(NOBODY if part.startswith("{") else part for part in row.path.split("/")), row)
    for row in OPERATIONS.values()
]


@each("key", [None, "wrong", ""], ids=["missing", "wrong", "empty"])
@each("method, path, row", PATHS, ids=list(OPERATIONS))
def test_no_operation_answers_without_a_valid_key(sandbox, method, path, row, key):
    """A missing or invalid key gets 401 with the documented message."""
    api = Api(sandbox, key)

    answer = api.call(method, path, {} if method in {"POST", "PATCH"} else None)

    assert (
        answer.status,
        answer.body["error"],
        answer.body["message"],
    ) == (401, "Unauthorized", "Invalid or missing API key")


@each("method, path, row", PATHS, ids=list(OPERATIONS))
def test_simulations_are_not_found_in_production(method, path, row):
    """Exactly the simulations return 404 in production."""
    api = Api(Sandbox(environment="production"))

    answer = api.call(method, path, {} if method in {"POST", "PATCH"} else None)

    assert row.sandbox_only == (answer.status == 404 and answer.body["message"] == "Not Found")


def test_settling_is_not_found_in_production():
    """The assumed settle call is also a simulation."""
    assert Api(Sandbox(environment="production")).settle(NOBODY, amount=1).status == 404


@pytest.mark.parametrize("key, status", [("full", 200), ("read only", 403), ("contractsAndSignatures:read only", 403), ("rewards only", 403)])  # fmt: skip
def test_a_signature_needs_the_write_role(sandbox, key, status):
    """The key must have contractsAndSignatures:write; read is not enough."""
    assert status == Api(sandbox, key).sign().status


@pytest.mark.parametrize("key, status", [("full", 200), ("read only", 200), ("contractsAndSignatures:read only", 403), ("rewards only", 200)])  # fmt: skip
def test_rewards_need_their_role(sandbox, key, status):
    """GET /issuing/rewards/activity requires the role rewards:read."""
    api = Api(sandbox, key)

    assert status == api.call("GET", "/issuing/rewards/activity", userId=api.user).status


def test_contracts_are_for_tenants_with_corporate_cards(sandbox):
    """A tenant that does not issue corporate cards gets 403."""
    answer = Api(sandbox, "no corporate cards").call("GET", "/issuing/tenants/contracts")

    assert (answer.status, answer.body["error"], answer.body["message"]) == (403, "ForbiddenError", "Forbidden")


def test_a_key_can_have_no_team(sandbox):
    """A key without a team gets 404 Team not found for contracts and payment accounts."""
    api = Api(sandbox, "team not found")

    for answer in (api.call("GET", "/issuing/tenants/contracts"), api.pay_to(userId=NOBODY)):
        assert (
            answer.status,
            answer.body["error"],
            answer.body["message"],
        ) == (404, "NotFoundError", "Team not found")


def test_the_role_is_looked_at_before_the_query(sandbox):
    """The role is checked after the key and before the query."""
    assert Api(sandbox, "read only").sign(amount="nonsense").status == 403


def test_an_invalid_body_is_400_even_for_an_unknown_id(api):
    """The body is checked before the record."""
    assert api.update_user(NOBODY, firstName="x" * 51).status == 400
    assert api.update_user(NOBODY, firstName="x" * 50).status == 404


@pytest.mark.parametrize("bad", ["x", "..", "%2e%2e", "3f2a0b1c", NOBODY + "0", "{" + NOBODY + "}", NOBODY.replace("-", "")])  # fmt: skip
def test_an_id_in_a_path_is_a_uuid(api, bad):
    """The syntax of ids is checked before the body."""
    answer = api.update_user(bad, firstName="x" * 51)

    assert (answer.status, answer.body["message"]) == (400, "userId must be a UUID")


def test_ids_are_found_in_any_case(api):
    """Ids are case-insensitive."""
    assert api.update_user(api.user.upper()).status == 200


@pytest.mark.parametrize("path", ["/nope", "", "/", "/issuing/users", "/issuing/users/a/b", "//", "/payment-accounts/"])
def test_nothing_else_is_served(api, path):
    """An unknown path gets 404 or 405, and an invalid id gets 400."""
    assert api.call("GET", path).status in {404, 405}
    assert api.call("DELETE", path).status in {400, 404, 405}


def test_a_path_of_another_prefix_is_not_found(sandbox):
    """All paths are under /v1."""
    from workbench.sandbox import Request

    response = internals(sandbox).engine.answer(Request("GET", "/v2/issuing/tenants/contracts"))

    assert (response.status, json.loads(response.body)["message"][:15]) == (404, "Nothing is serv")


@pytest.mark.parametrize("method", ["PUT", "HEAD", "OPTIONS", "TRACE", "get"])
def test_other_methods_are_405(api, method):
    """A known path with another method gets 405 with the allowed methods."""
    answer = api.call(method, "/issuing/tenants/contracts")

    assert (answer.status, answer.headers["allow"]) == (405, "GET")
    if method != "HEAD":  # an answer to HEAD has no body
        assert "Served: GET /v1/issuing/tenants/contracts" in answer.body["message"]


def test_header_names_are_found_in_any_case(sandbox):
    """A case-insensitive mapping of headers, such as httpx's, is accepted."""
    import httpx

    from workbench.sandbox import Request

    headers = httpx.Headers({"API-KEY": sandbox.full_key})

    assert (
        internals(sandbox).engine.answer(Request("GET", "/v1/issuing/tenants/contracts", headers=headers)).status == 200
    )
