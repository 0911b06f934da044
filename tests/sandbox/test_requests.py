"""Every valid request is accepted, and one broken rule at a time is refused by name."""

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.each import some
from tests.sandbox.driver import Api
from tests.strategies import Break, breaks, broken, requests
from workbench.base.schema.rules import FULL
from workbench.base.schema.walk import Integer, build, member
from workbench.base.schema.walk import given as given_members
from workbench.sandbox import Sandbox
from workbench.service.interface.convert import converter, placeholders
from workbench.service.interface.table import OPERATIONS, Operations

WORLD = Sandbox(behavior={"over_limit": "authorized"})
MUCH = 10**9


def seeded(api: Api, name: str) -> dict[str, Any]:
    """Return the members of a request that refer to records, by attribute name."""
    company, contract = api.guide["companies"][0], api.guide["contracts"][0]
    known: dict[str, dict[str, Any]] = {
        "sign_withdrawal": {
            "chain_id": contract["chain_id"],
            "token": contract["tokens"][0]["address"],
            "amount": "2500",
            "admin_address": contract["admin_addresses"][0],
            "recipient_address": contract["admin_addresses"][1],
            "collateral_contract_id": contract["id"],
        },
        "simulate_authorization": {"card_id": api.card},
        "create_payment_account": {"user_id": api.user, "company_id": None},
        "delete_payment_account": {"payment_account_id": api.guide["payment_accounts"][0]},
        "update_user": {"user_id": api.user},
        "update_ubo": {"company_id": company["id"], "ubo_id": company["owners"][0]["id"]},
        "update_dispute": {"dispute_id": api.guide["disputes"]["pending"][0]},
        "create_user_application": {"id": None},
        "list_rewards_activity": {"user_id": api.user},
    }
    if name == "simulate_reversal":
        return {"transaction_id": api.authorized(MUCH)}
    if name == "simulate_refund":
        return {"transaction_id": api.settled(MUCH)}
    return known.get(name, {})


def send(api: Api, operation: Any, path: dict[str, Any], body: dict[str, Any]) -> Any:
    where = operation.path
    for name in placeholders(operation.path):
        where = where.replace(f"{{{name}}}", path[name])
    if operation.in_query:
        query = {name: str(value).lower() if isinstance(value, bool) else value for name, value in body.items()}
        return api.call(operation.method, where, **query)
    return api.call(operation.method, where, None if operation.method == "DELETE" else body)


@pytest.mark.parametrize("operation", OPERATIONS.values(), ids=list(OPERATIONS))
@given(data=st.data())
def test_what_keeps_the_rules_is_accepted(operation, data):
    """A valid request with ids from the guide is accepted."""
    api = Api(WORLD.fork())
    asked = data.draw(requests(operation))
    asked = build(operation.request, {**given_members(asked), **seeded(api, operation.name)})

    answer = send(api, operation, *converter().write_request(operation, asked))

    assert operation.success == answer.status, answer.body
    converter().read_answer(operation, answer.body)


def shows(operation: Any, how: Break) -> bool:
    """Return whether a broken rule is visible on the wire and breaks a rule there.

    Paths are tested elsewhere. All values of a query are text, and a chain id may be text. A missing amount means the
    full amount, a missing unit means cents, and a partial address is an update.
    """
    one = member(operation.request, how.at[0])
    if one.wire in placeholders(operation.path):
        return False
    if how.rule == "required":
        meant = isinstance(one.kind, Integer) and one.kind.full
        return not (meant or one.name == "is_amount_native" or one.about.partial)
    as_text = operation.in_query or one.name == "chain_id"
    return not (as_text and how.rule == "type" and how.value != 10.99)


BREAKS = [
    pytest.param(operation, how, id=f"{operation.name}-{how}")
    for operation in OPERATIONS.values()
    for how in breaks(operation.request)
    if shows(operation, how)
]


@pytest.mark.slow
@pytest.mark.parametrize("operation, how", some(3, BREAKS))
@given(data=st.data())
@settings(max_examples=1)
def test_one_broken_rule_is_refused_by_name(operation, how, data):
    """A 400 names the member, except for payment accounts, whose message is documented."""
    api = Api(WORLD.fork())
    request = data.draw(broken(operation, how))
    request |= {name: value for name, value in seeded(api, operation.name).items() if name != how.at[0]}
    path = {wire(operation, name): request.pop(name) for name in tuple(request) if is_in_path(operation, name)}

    answer = send(api, operation, path, wired(operation.request, request))

    assert answer.status == 400
    assert operation is Operations.create_payment_account or how.wire in answer.body["message"]


def wire(operation: Any, name: str) -> str:
    return member(operation.request, name).wire


def is_in_path(operation: Any, name: str) -> bool:
    return wire(operation, name) in placeholders(operation.path)


def wired(cls: type[Any], arguments: dict[str, Any]) -> dict[str, Any]:
    """Write arguments with wire names, whether or not they break rules."""
    made = {}
    for name, value in arguments.items():
        one = member(cls, name)
        if value is None or value is FULL:
            continue
        if isinstance(value, dict) and hasattr(one.kind, "of"):
            value = wired(one.kind.of, value)
        made[one.wire] = value if isinstance(value, str | int | float | dict) else str(value)
    return made
