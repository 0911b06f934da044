"""Ten concurrent sessions with the keys of ten tenants on one sandbox: every interface shows each only its own data."""

import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from typing import Any

import attrs
import pytest

import workbench as wb
from workbench.sandbox.internals import internals
from workbench.screens.panel.panel import browse
from workbench.terminal import main

pytestmark = pytest.mark.slow  # ten tenants with concurrent traffic

NAMES = [f"tenant {number}" for number in range(10)]
KINDS = ("user", "card", "contract", "transaction")


@attrs.frozen
class Own:
    """A session and its tenant's ids, both seeded and created."""

    name: str
    api: wb.Session
    ids: set[str]


@pytest.fixture(scope="module")
def owns() -> Iterator[list[Own]]:
    """Yield ten sessions that created records at the same time."""
    with ExitStack() as stack:
        sandbox = wb.Sandbox()
        stack.callback(sandbox.close)
        url = stack.enter_context(sandbox.serve())
        for number, name in enumerate(NAMES):
            sandbox.create.tenant(name, management="provider" if number % 3 == 0 else "self")
        sessions = [stack.enter_context(wb.connect(url, tenant=name)) for name in NAMES]
        together = threading.Barrier(len(NAMES))
        with ThreadPoolExecutor(len(NAMES)) as pool:
            yield list(pool.map(lambda name, api: live(name, api, together), NAMES, sessions))


def live(name: str, api: wb.Session, together: threading.Barrier) -> Own:
    """Call operations and controls and receive events as one tenant, concurrently with the others."""
    guide = api.sandbox.guide()
    card, user = guide["cards"]["active"][0], guide["users"]["approved"][0]
    together.wait(30)
    for amount in range(1, 6):
        held = api.simulate_authorization(
            card_id=card, amount=amount, currency="USD", merchant_name=name, merchant_category_code="5411"
        )
        api.sandbox.settle(held.transaction_id)
    api.update_user(user_id=user, external_id=name)
    api.sandbox.create.user(first_name="New", last_name=name)
    ids = {one["id"] for kind in KINDS for one in api.sandbox.records(kind)}
    return Own(name, api, ids)


def panel_rows(api: wb.Session, tab: str) -> str:
    """Return the rows and details of a panel's list."""
    panel = browse(api)
    listing = panel.open(tab)
    opened = [panel.show(tab, key) for key in listing.data.ids[:5]]
    panel.close()
    return repr([*map(list, listing.data.cells)]) + repr(opened)


def terminal(*words: str) -> Callable[[Own, Any], str]:
    """Return the output of a command for a tenant."""

    def printed(own: Own, capsys: Any) -> str:
        assert main([*words, "--url", internals(own.api.sandbox).url, "--tenant", own.name, "-o", "json"]) == 0
        return str(capsys.readouterr().out)

    return printed


FACES: dict[str, Callable[[Own, Any], str]] = {
    **{f"records of {kind}": lambda own, _, kind=kind: repr([one["id"] for one in own.api.sandbox.records(kind)]) for kind in KINDS},
    "events": lambda own, _: repr([dict(one.payload["body"]) for one in own.api.sandbox.events()]),
    "columns": lambda own, _: repr(internals(own.api.sandbox).changed("transaction", "id")[2:]),
    "requests": lambda own, _: repr([(one.path, one.body) for one in own.api.sandbox.requests()]),
    "inbox": lambda own, _: repr([(event.body.id, getattr(event.body, "user_id", "")) for event in own.api.inbox.events()]),
    "journal": lambda own, _: repr([dict(entry.request) for entry in own.api.journal]),
    "guide": lambda own, _: repr({name: one for name, one in own.api.sandbox.guide().items() if name != "tenants"}),
    "contracts": lambda own, _: repr([one.id for one in own.api.list_contracts()]),
    **{f"panel: {tab}": lambda own, _, tab=tab: panel_rows(own.api, tab) for tab in ("users", "contracts", "transactions", "events", "requests")},
    "terminal: events": terminal("sandbox", "events"),
    "terminal: users": terminal("sandbox", "records", "user"),
    "terminal: requests": terminal("sandbox", "requests"),
    "terminal: contracts": terminal("contracts", "list"),
}  # fmt: skip


@pytest.mark.parametrize(
    "face, every",
    [
        *[(face, 4 if ":" in face else 1) for face in FACES],
        *[pytest.param(face, 1, marks=pytest.mark.soak) for face in FACES if ":" in face],
    ],
)
def test_each_tenant_sees_its_own_and_nothing_else(
    owns: list[Own], face: str, every: int, capsys: pytest.CaptureFixture[str]
) -> None:
    """A tenant's own ids are shown, and no id of the nine others."""
    for own in owns[::every]:
        text = FACES[face](own, capsys)
        others = set().union(*(other.ids for other in owns if other is not own))

        assert any(one in text for one in own.ids), face
        assert [] == [one for one in others if one in text], face


def test_each_tenant_received_what_it_caused(owns: list[Own]) -> None:
    """Each tenant receives its five purchases of three events and its new user, in order, and no other events."""
    for own in owns:
        kinds = [event.kind for event in own.api.inbox.events()]

        assert 15 == sum(kind.startswith("transaction.") for kind in kinds)
        merchants = {event.body.spend.merchant_name for event in own.api.inbox.events() if event.body.id in own.ids and hasattr(event.body, "spend")}  # fmt: skip
        assert {own.name} == merchants
        numbers = [one.sequence for one in own.api.sandbox.events()]
        assert numbers == sorted(numbers)
