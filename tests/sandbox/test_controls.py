"""Controls work equally by method and by name, and are never part of the interface."""

import inspect
import json

import attrs
import httpx
import pytest

from tests.each import each
from tests.sandbox.driver import state_of
from workbench.base.errors import BadRequest, NotFound, UsageError
from workbench.base.schema.checks import flags
from workbench.sandbox import Sandbox
from workbench.sandbox.context import python_name
from workbench.sandbox.control_records import to_json
from workbench.sandbox.controls import CONTROLS, perform
from workbench.service.interface.table import OPERATIONS
from workbench.terminal.sandbox import _command, advance
from workbench.terminal.where import Where

NOBODY = "00000000-0000-4000-8000-000000000000"


def test_no_control_is_an_operation_and_each_says_what_it_does():
    assert not set(CONTROLS) & set(OPERATIONS)
    assert all(control.doc for control in CONTROLS.values())


@pytest.mark.slow
def test_names_of_arguments_agree_in_python_at_the_prompt_and_over_http(api):
    """Argument names are equal in Python, commands and HTTP, except keys, and the options of the clock at a prompt."""
    key = {"api-key": api.sandbox.full_key}
    with api.sandbox.serve() as url, httpx.Client(base_url=url, headers=key) as served:
        for name, control in CONTROLS.items():
            arguments = [argument for argument in control.signature.parameters if argument != "self"]
            assert arguments == [*control.hints]
            typed = {argument for argument in arguments if argument != "signing_key"}
            command = inspect.signature(advance if name == "advance" else _command(control)).parameters
            if name != "advance":
                assert {*command} - {"where", "how"} == typed
            assert not typed & {field.name for field in attrs.fields(Where)}
            unknown = served.post(f"/_sandbox/{name}", json={"zq": 1})
            assert (unknown.status_code, "zq" in unknown.json()["message"]) == (400, True)
            for argument in arguments:
                refused = served.post(f"/_sandbox/{name}", json={argument: [7]})
                assert refused.is_error
                assert f"{argument} is not an argument" not in refused.json()["message"]


def test_a_control_by_name_is_the_method(api):
    """A control by name takes and returns JSON values."""
    card = api.card

    for name, arguments in (
        ("balance", {"card_id": card}),
        ("lock_card", {"card_id": card}),
        ("state", {"record_id": card}),
        ("events", {}),
        ("requests", {}),
        ("guide", {}),
        ("advance", {"seconds": 1.5}),
        ("review", {"user_or_owner_id": api.user, "status": "denied"}),
        ("deposit", {"amount": "0.10"}),
        ("pending_first", {"times": 1}),
        ("snapshot", {"name": "a"}),
        ("restore", {"name": "a"}),
        ("reset", {}),
    ):
        assert json.dumps(to_json(perform(api.sandbox, name, arguments)))


@each(
    "name, arguments, wrong",
    [
        ("nothing", {}, NotFound),
        ("_record", {}, NotFound),
        ("fork", {}, NotFound),
        ("balance", {}, UsageError),
        ("balance", {"card": 1}, UsageError),
        ("balance", {"card_id": NOBODY}, NotFound),
        ("balance", {"card_id": 1}, UsageError),
        ("state", {"record_id": NOBODY}, NotFound),
        ("state", {"record_id": None}, UsageError),
        ("review", {"user_or_owner_id": NOBODY, "status": "denied"}, NotFound),
        ("review", {"user_or_owner_id": 7, "status": "denied"}, UsageError),
        ("review", {"user_or_owner_id": NOBODY, "status": "happy"}, UsageError),
        ("review", {"user_or_owner_id": NOBODY, "status": ["x"]}, UsageError),
        ("settle", {"transaction_id": NOBODY}, NotFound),
        ("settle", {"transaction_id": NOBODY, "amount": 1.5}, UsageError),
        ("advance", {"seconds": -1}, UsageError),
        ("advance", {"seconds": "1"}, UsageError),
        ("advance", {"days": 10**9}, UsageError),
        ("advance", {"days": float("nan")}, UsageError),
        ("events", {"kind": "card.eaten"}, UsageError),
        ("events", {"since": "1"}, UsageError),
        ("pending_first", {"times": "many"}, UsageError),
        ("pending_first", {"times": -1}, UsageError),
        ("restore", {"name": "never"}, NotFound),
        ("restore", {"name": []}, UsageError),
        ("snapshot", {"name": 1}, UsageError),
        ("unlock_card", {"card_id": NOBODY}, NotFound),
        ("wallet_sign", {"admin": 1, "typed_data": {}}, UsageError),
        ("execute", {"transaction": []}, UsageError),
        ("deposit", {"payment_route_id": 1}, UsageError),
        ("deposit", {"description": 5}, UsageError),
        ("deposit", {"rail": []}, UsageError),
    ],
    ids=repr,
)  # fmt: skip
def test_a_control_that_cannot_be_carried_out_says_so(api, name, arguments, wrong):
    """Wrong names and arguments give the errors of a service, and change nothing."""
    before = state_of(api.sandbox)

    with pytest.raises(wrong) as caught:
        perform(api.sandbox, name, arguments)

    assert str(caught.value).startswith(f"{python_name(name)}: ")
    assert before == state_of(api.sandbox)


def test_settle_returns_documented_values(api):
    """A settled transaction has no unusual members."""
    assert () == flags(api.sandbox.settle(api.authorized()))


def test_what_the_state_forbids_is_refused(api):
    """The error names the control and the reason, without an HTTP status."""
    with pytest.raises(BadRequest, match=r"^cards\.activate: a card that is active cannot be activated$"):
        api.sandbox.cards.activate(api.card)


def test_the_log_of_requests_shows_no_private_value(api):
    """The log masks requests and responses, also of unreadable bodies and unknown paths."""
    api.apply(nationalId="900777123", occupation="clairvoyant")
    api.send("POST", "/payment-accounts", b'{"secret": "plain')
    api.send("GET", "/hidden-path/900777123")
    api.call("GET", "/issuing/rewards/activity", userId=api.user, secret="plain")

    log = api.sandbox.requests()

    text = json.dumps(to_json(log))
    for private in ("900777123", "clairvoyant", "plain", api.key, "ada@example.com"):
        assert private not in text
    assert [one.operation for one in log] == [
        "create_user_application",
        "create_payment_account",
        None,
        "list_rewards_activity",
    ]
    assert [one.status for one in log] == [200, 400, 404, 200]


@pytest.mark.slow
def test_the_log_is_bounded(api):
    for _ in range(1_100):
        api.call("GET", "/nope")

    assert len(api.sandbox.requests()) == 1_000


def test_reset_puts_the_world_back(api):
    """A reset restores records, events and time, and never reuses event numbers."""
    before = state_of(api.sandbox)
    api.authorize()
    api.sandbox.advance(days=3)

    api.sandbox.reset()

    assert before == state_of(api.sandbox)
    api.authorize()
    assert [one.sequence for one in api.sandbox.events()] == [3, 4]


def test_a_snapshot_can_be_restored_again_and_again(api):
    transaction = api.authorized()
    api.sandbox.snapshot("held")

    for _ in range(2):
        assert api.settle(transaction, amount=1).status == 200
        api.sandbox.restore("held")
        assert api.sandbox.state(transaction)["status"] == "authorized"


def test_webhooks_go_to_public_addresses_only_where_that_is_asked_for() -> None:
    """By default webhooks go only to this machine."""
    url = "https://93.184.215.14/hook"
    with pytest.raises(UsageError, match="only receivers on this machine"):
        Sandbox().register_endpoint(url)

    assert Sandbox(public_webhooks=True).register_endpoint(url).url == url
