"""Lists of the panel can be read, their rows open, and the page receives only what it requests."""

import json
from decimal import Decimal
from pathlib import Path
from typing import Any

import ipywidgets
import pandas as pd
import pytest

from tests.forms.conftest import PERSON, SECRETS
from tests.panel.script import Engine, Naive, engine, listed, terms, unpacked
from tests.panel.test_page import data_of
from workbench.analysis.reports.history import history
from workbench.analysis.tables.frames import to_frame
from workbench.base.errors import OutcomeUnknown, UsageError
from workbench.client.calls.client import AsyncClient
from workbench.client.session import Session, connect
from workbench.screens.panel import lists as things
from workbench.screens.panel.cells import Column, milliseconds
from workbench.screens.panel.file import to_file
from workbench.screens.panel.panel import Panel, browse
from workbench.service.rendering import money

assert engine  # pytest finds this imported fixture by its name
ONE_ID = {"refund_event_id": "transaction", "refund_event_created": False}
"""Behavior in which a refund's events have the id of the refunded transaction."""


@pytest.fixture
def lived(api: Session, purchase: dict[str, Any]) -> Session:
    """Return a session with some history."""
    api.create_user_application(**PERSON)
    api.simulate_authorization(**purchase)
    return api


LISTS = (
    "contracts", "users", "companies", "cards", "transactions", "payment accounts", "disputes", "events", "requests",
    "sequences", "assumptions",
)  # fmt: skip


def answered(panel: Panel, do: str, **more: Any) -> dict[str, Any]:
    """Return the kernel's answer to a message from the page."""
    answer = panel.answer({"ask": 1, "do": do, **more})
    assert json.loads(json.dumps(answer)) == answer  # the answer contains only JSON values
    return answer


@pytest.mark.slow
@pytest.mark.parametrize("name", LISTS)
def test_every_list_reads_and_its_rows_open(lived: Session, name: str) -> None:
    """Each list shows rows, and a row opens to its fields."""
    panel = browse(lived)

    answer = answered(panel, "rows", list=name)
    details = answered(panel, "details", list=name, id=panel.lists[name].ids[0])

    assert answer["all"] == len(unpacked(answer)) == len(panel.lists[name]) > 0
    assert details["id"] == panel.lists[name].ids[0]


def test_a_row_shows_its_events_and_the_request_that_made_it(lived: Session) -> None:
    """A user's details show the event about the user and the call that created it."""
    (made,) = [entry for entry in lived.journal if entry.operation == "create_user_application"]
    panel = browse(lived)

    details = panel.show("users", made.answer["id"])

    assert "user.updated" in {one["title"] for one in details["events"]}
    assert [made.id] == [one["id"] for one in details["requests"]]


@pytest.mark.parametrize("api", [ONE_ID], indirect=True)
def test_a_transaction_has_its_timeline(lived: Session) -> None:
    """The timeline lists what happened, in order, with amounts and sandbox time."""
    transaction = browse(lived).open("transactions").ids[0]
    lived.sandbox.settle(transaction)
    lived.simulate_refund(transaction_id=transaction, amount=500)

    details = browse(lived).show("transactions", transaction)

    assert [
        ("Authorization requested", "12.50 USD"), ("Authorized", "12.50 USD"), ("Posted", "12.50 USD"), ("Refunded", "-5.00 USD"),
    ] == [(one["title"].partition(" (")[0], one["amount"]) for one in details["timeline"]]  # fmt: skip
    assert all(one["at"].startswith("2026-01-15T15:00:00") for one in details["timeline"])
    sent = answered(browse(lived), "details", list="transactions", id=transaction)
    assert sent["timeline"] == details["timeline"]
    assert ("svg", 4) == (sent["states"][0], len(sent["events"]))
    assert [lived.sandbox.state(transaction)["user"]] in [row["value"].get("lines") for row in sent["fields"]["rows"]]
    assert {"User", "Merchant name"} <= {row["label"] for row in sent["fields"]["rows"]}


def test_a_transaction_shows_its_states(lived: Session) -> None:
    """A transaction shows its state diagram with the current state marked. Other records have no diagram."""
    panel = browse(lived)

    drawn = panel.show("transactions", panel.open("transactions").ids[0])["states"]
    assert drawn[0] == "svg"
    assert drawn[1]["aria-label"].endswith("Present state: authorized.")
    assert panel.show("contracts", panel.open("contracts").ids[0])["states"] is None


def test_things_are_called_by_their_names(lived: Session) -> None:
    """A transaction shows its card's last digits, by which it can be found. The id of a card leads to the card."""
    panel = browse(lived)
    card = lived.sandbox.records("card")[0]
    rows = unpacked(answered(panel, "rows", list="transactions"))

    assert f"•••• {card['last4']}" in {row["card_id"] for row in rows}
    assert listed(panel, "transactions", f"card:{card['last4']}")
    assert answered(panel, "find", id=card["id"], to="cards")["list"] == "cards"


def test_a_thing_leads_to_the_lists_that_name_it(lived: Session, engine: Engine) -> None:
    """A card's details link to the list of transactions, filtered to this card."""
    panel = browse(lived)
    card = lived.sandbox.records("card")[0]["id"]

    (link,) = engine("links", "cards", card)
    rows = listed(panel, link["list"], link["filter"])

    assert len(rows) == sum(one["card"] == card for one in lived.sandbox.records("transaction")) > 0


def test_private_values_are_shown_on_request_and_noted(lived: Session) -> None:
    """A name is masked until it is revealed, which the journal records. Only the open record is revealed."""
    panel = browse(lived)
    user = next(one for one in lived.sandbox.records("user") if one["first_name"] == PERSON["first_name"])["id"]
    details = panel.show("users", user)
    shown = answered(panel, "reveal", list="users", id=user)
    refused = answered(panel, "reveal", list="users", id="another")

    assert details["private"]
    assert PERSON["last_name"] not in str(details)
    assert PERSON["last_name"] in str(shown["fields"])
    assert any(note.kind == "revealed" and user in note.text for note in lived.journal.notes)
    assert "not open" in refused["error"]


def explained(panel: Panel, **number: Any) -> tuple[list[dict[str, Any]], str]:
    """Return the rows behind a number, by column, and the note above them. The page names the filtered rows."""
    if "filter" in number:
        name, text = number["list"], number.pop("filter")
        mark = answered(panel, "rows", list=name)["mark"]
        number |= {"mark": mark, "rows": Naive(panel.lists[name].data).order(terms(text), [])}
    rows = answered(panel, "rows", list=answered(panel, "explain", **number)["name"])
    return unpacked(rows), rows["notes"][0]


@pytest.mark.slow
def test_amounts_of_the_overview_are_explained(lived: Session, purchase: dict[str, Any]) -> None:
    """The note above the explaining rows has the tile's figure, with a refund among the rows."""
    spent = lived.simulate_authorization(**purchase | {"amount": 4000}).transaction_id
    lived.sandbox.settle(spent)
    lived.simulate_refund(transaction_id=spent, amount=1050)
    panel = browse(lived)
    shown = answered(panel, "overview", part="tiles", filters={"range": "year"})["tiles"]
    tiles = [one for one in shown if one["column"]]

    notes = {
        one["label"]: explained(panel, list=one["list"], column=one["column"], filter=one["filter"])[1] for one in tiles
    }

    assert {"Open holds", "Posted"} == set(notes)
    for one in tiles:
        assert one["figure"].rstrip("%") in notes[one["label"]]


@pytest.mark.slow
@pytest.mark.parametrize("api", [ONE_ID], indirect=True)
def test_an_amount_is_explained_by_its_postings(lived: Session, purchase: dict[str, Any]) -> None:
    """The net amount of a refunded transaction is a settlement minus a refund, each with its event and request."""
    spent = lived.simulate_authorization(**purchase | {"amount": 4000}).transaction_id
    lived.sandbox.settle(spent)
    lived.simulate_refund(transaction_id=spent, amount=1050)
    panel = browse(lived)

    made_of, note = explained(panel, list="transactions", id=spent, column="net_cents")
    of_card, posted = explained(panel, list="cards", id=purchase["card_id"], column="posted_cents")
    of_shop, held = explained(panel, list="transactions", filter='merchant_name="Example Shop"', column="held_cents")

    assert "Net: 29.50 USD, the sum of 2 contributions." == note
    assert [("settlement", 4000), ("refund", -1050)] == [(one["posting"], one["contribution_cents"]) for one in made_of]
    assert "simulate_refund 200" in made_of[1]["requests"]
    events = {event.payload["id"] for event in lived.sandbox.events()}
    assert {one["event_id"] for one in made_of} <= events
    cards = panel.lists["cards"]
    shown = money(cards.data.facts(cards.data.positions[purchase["card_id"]])["posted_cents"])
    assert f"Posted: {shown}, the sum of {len(of_card)} contributions." == posted
    assert spent in [one["transaction_id"] for one in of_card]
    assert f"Held: {money(sum(one['contribution_cents'] for one in of_shop))}, the sum of " in held
    for name, column in (("explanation", "held_cents"), ("cards", "nothing"), ("contracts", "value_cents")):
        assert "has no explanation of" in answered(panel, "explain", list=name, column=column)["error"]


def test_stored_transactions_are_listed_as_they_are_reported(lived: Session, purchase: dict[str, Any]) -> None:
    """Rows made without a frame have the report's values for settled, refunded, declined and open transactions."""
    spent = lived.simulate_authorization(**purchase | {"amount": 4000}).transaction_id
    lived.sandbox.settle(spent)
    lived.simulate_refund(transaction_id=spent, amount=4000)
    lived.simulate_authorization(**purchase | {"amount": 10**8})
    report = (
        history(lived.sandbox.records("transaction"))
        .transactions()
        .rename(columns={"transaction_id": "id", "authorized_cents": "amount_cents"})
    )

    shown = browse(lived).lists["transactions"].frame()

    ordered = report.sort_values("authorized_at", kind="stable")[::-1][[*shown]]
    listed, wanted = (
        [[None if pd.isna(cell) else cell for cell in row] for row in frame.astype("object").to_numpy().tolist()]
        for frame in (shown, ordered)
    )
    assert listed == wanted
    assert {"settled", "refunded", "declined", "authorized"} <= {*shown["status"]}


def test_a_dispute_shows_the_posted_amount(lived: Session, purchase: dict[str, Any]) -> None:
    """A dispute shows the posted amount of its transaction, in the transaction's currency."""
    spent = lived.simulate_authorization(**purchase | {"amount": 4000}).transaction_id
    lived.sandbox.settle(spent)
    key = lived.sandbox.open_dispute(spent).id

    data = browse(lived).lists["disputes"].data

    facts = data.facts(data.ids.index(key))
    assert (spent, 4000, "USD") == (facts["transaction_id"], facts["posted_cents"], facts["currency"])


@pytest.mark.parametrize("api", [ONE_ID], indirect=True)
def test_a_transaction_shows_what_became_of_its_money(api: Session, purchase: dict[str, Any]) -> None:
    """100.00 settled and 15.00 refunded give a net of 85.00, from the sandbox's records and from events only."""
    transaction = api.simulate_authorization(**{**purchase, "amount": 10_000}).transaction_id
    api.sandbox.settle(transaction)
    api.simulate_refund(transaction_id=transaction, amount=1_500)

    for read in (things.transactions, lambda session: things.transactions(OnlyEvents(session))):
        data = read(api)
        facts = data.facts(data.ids.index(transaction))
        assert [10_000, 0, 10_000, 1_500, 8_500] == [
            facts[f"{name}_cents"] for name in ("amount", "held", "posted", "refunded", "net")
        ]
        assert "settled" == facts["status"]


class OnlyEvents:
    """A session whose inbox is the only source."""

    def __init__(self, session: Session) -> None:
        self.inbox = session.inbox


def test_an_id_leads_to_its_thing(lived: Session) -> None:
    """The record with an id is found, in a given list or in any list."""
    panel = browse(lived)
    transaction = panel.open("transactions").data.facts(0)

    for to, key in (("cards", transaction["card_id"]), ("users", transaction["user_id"]), ("any", transaction["id"])):
        found = answered(panel, "find", to=to, id=key)
        assert key in panel.lists[found["list"]].ids
        assert to in (found["list"], "any")
    assert "is not known here" in answered(panel, "find", to="cards", id="nothing")["error"]


@pytest.mark.slow
def test_private_values_stay_masked_in_the_panel(lived: Session) -> None:
    """Lists, details, static HTML and widget state contain no private values of people."""
    panel = browse(lived)
    shown: list[Any] = [
        answered(panel, "start"),
        *(answered(panel, "overview", part=part) for part in ("attention", "tiles", "charts")),
    ]
    for name in LISTS:
        shown += [answered(panel, "rows", list=name)]
        shown += [answered(panel, "details", list=name, id=key) for key in panel.lists[name].ids[:40]]
    text = json.dumps(shown) + panel.html + repr(panel) + json.dumps(ipywidgets.Widget.get_manager_state(), default=str)

    assert [] == [secret for secret in SECRETS if secret in text.lower()]


def test_a_panel_is_one_widget(lived: Session) -> None:
    """The page contains a single widget, whose state contains no rows, whatever is open."""
    ipywidgets.Widget.close_all()
    panel = browse(lived)
    for name in LISTS:
        panel.open(name)
    state = ipywidgets.Widget.get_manager_state()["state"].values()

    assert ["AnyModel"] == [one["model_name"] for one in state if one["model_name"] != "LayoutModel"]
    assert lived.list_contracts()[0].id not in json.dumps(list(state), default=str)


def test_addresses_stand_in_full(lived: Session) -> None:
    """Ids and addresses are sent to the page in full, also those of contracts."""
    panel = browse(lived)
    contract = lived.list_contracts()[0]
    details = json.dumps(panel.show("contracts", panel.open("contracts").ids[0]))

    for address in (contract.deposit_address, contract.proxy_address, contract.controller_address):
        assert address in details


def test_rewards_are_read_of_a_user_or_of_all(lived: Session, monkeypatch: pytest.MonkeyPatch) -> None:
    """Users are offered by label. A read of all users has more rows than a read of one user."""
    asked: list[list[str]] = []

    def of_few(api: Any, users: Any = (), read: Any = things.rewards) -> Any:
        asked.append([*users])
        return read(api, asked[-1][:2])  # reading the rewards of all users takes seconds

    monkeypatch.setattr(things, "rewards", of_few)
    panel = browse(lived)
    user = lived.sandbox.guide()["rewards_users"][0]["id"]

    offered = answered(panel, "rows", list="rewards")["users"]
    of_user = answered(panel, "rows", list="rewards", user=user)
    of_all = answered(panel, "rows", list="rewards", user=offered[0])

    assert of_all["user"] == offered[0] == "All known users"
    assert any(user[:8] in label for label in offered)
    assert 0 < of_user["all"] < of_all["all"]
    assert asked == [[user], [one["id"] for one in lived.sandbox.guide()["rewards_users"]]]


def test_a_refusal_is_answered_as_text(lived: Session) -> None:
    """An invalid user is reported as text without a traceback."""
    assert "UUID" in answered(browse(lived), "rows", list="rewards", user="nobody")["error"]


@pytest.mark.parametrize(
    "message",
    [
        {}, {"do": None}, {"do": "rows"}, {"do": "rows", "list": "users", "part": "x"}, {"do": "details", "list": "users", "id": []},
        {"do": "select", "list": "users", "rows": ["x"]}, {"do": "form", "do_what": "__class__"}, {"do": "form", "do_what": "close"},
        {"do": "control", "do_what": "reset"}, {"do": "export", "list": "users", "file": "../../x"}, {"do": "_close"},
    ],
)  # fmt: skip
def test_no_message_of_a_page_does_what_is_not_offered(lived: Session, message: dict[str, Any]) -> None:
    """A message for an action that is not offered gets an error, and nothing is sent."""
    panel = browse(lived)
    panel.open("transactions")
    before = len(lived.sandbox.requests())

    answer = panel.answer({"ask": 7, **message})

    assert 7 == answer["answer"]
    assert "error" in answer
    assert before == len(lived.sandbox.requests())
    assert panel.form is None


@pytest.mark.slow
def test_the_view_is_exported_as_it_is_shown(lived: Session, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The export has the filtered rows in the displayed order. A page cannot overwrite a file."""
    monkeypatch.chdir(tmp_path)
    panel = browse(lived)
    mark = answered(panel, "rows", list="assumptions")["mark"]
    listing = panel.lists["assumptions"]
    shown = {"list": "assumptions", "mark": mark, "rows": [5, 2, 9], "filter": "withdrawal"}

    saved = answered(panel, "export", **shown, file="csv")
    again = answered(panel, "export", **shown, file="csv")
    answered(panel, "export", **shown, file="html")
    answered(panel, "export", **shown, file="page")

    ids = [listing.ids[number] for number in shown["rows"]]
    assert ids == pd.read_csv(tmp_path / "assumptions.csv", dtype=str)["id"].tolist()
    assert "3 rows" in saved["text"]
    assert "exists" in again["error"]
    of_rows, of_all = (data_of((tmp_path / f"{name}.html").read_text()) for name in ("assumptions", "workbench"))
    assert ids == of_rows["lists"][0]["columns"][-1]["of"]
    assert "Filter: withdrawal" in (tmp_path / "assumptions.html").read_text()
    (whole,) = [rows for rows in of_all["lists"] if rows["name"] == "assumptions"]
    assert listing.ids == whole["columns"][-1]["of"]
    assert "exists" in answered(panel, "export", **shown, file="html")["error"]


def test_a_typed_frame_is_exported_with_its_types(lived: Session, tmp_path: Path) -> None:
    """An export of rewards preserves exact decimals and times."""
    panel = browse(lived)
    panel.rewards.show(lived.sandbox.guide()["rewards_users"][0]["id"])

    saved = to_file(panel.rewards.frame(), tmp_path / "rewards.parquet")

    read = pd.read_parquet(saved.path)
    assert all(isinstance(value, Decimal) for value in read["points"])
    assert panel.rewards.ids == read["id"].tolist()


def test_the_exported_rows_can_be_read_again(lived: Session, tmp_path: Path) -> None:
    """pandas reads all rows of an exported CSV file."""
    requests = browse(lived).open("requests")
    saved = to_file(requests.frame(), tmp_path / "requests.csv")

    assert len(requests) == len(pd.read_csv(saved.path))


def test_what_is_new_is_marked(lived: Session, purchase: dict[str, Any]) -> None:
    """The stamp changes with a new record, and the page then receives only the new row."""
    panel = browse(lived)
    stamp = answered(panel, "start")["stamp"]
    before = answered(panel, "rows", list="transactions")
    for name in LISTS:
        answered(panel, "rows", list=name)
    unchanged = answered(panel, "tick", stamp=stamp)
    lived.simulate_authorization(**purchase)

    changed = answered(panel, "tick", stamp=stamp)
    after = answered(panel, "rows", list="transactions", mark=before["mark"])
    nothing = answered(panel, "rows", list="transactions", mark=after["mark"])

    assert (False, True) == (unchanged["changed"], changed["changed"])
    assert [before["count"]] == after["at"]
    assert [purchase["amount"]] == [row["amount_cents"] for row in unpacked(after["rows"])]
    assert [] == nothing["at"]


def test_a_call_that_is_resolved_is_noticed(lived: Session, purchase: dict[str, Any]) -> None:
    """The stamp changes with a call's outcome, even if the number of calls is the same."""
    lived.sandbox.add_fault("lost", of="simulate_authorization", times=1)
    with pytest.raises(OutcomeUnknown):
        lived.simulate_authorization(**purchase)
    panel = browse(lived)
    stamp = answered(panel, "start")["stamp"]
    lived.journal.resolve(lived.journal.unknown()[-1].id, "done")

    assert answered(panel, "tick", stamp=stamp)["changed"]


def test_another_service_shows_what_is_known(tmp_path: Path) -> None:
    """Without sandbox records, every list can still be read."""
    with connect(seed=7, environment="production") as live:
        panel = browse(live)
        for name in LISTS:
            assert "error" not in answered(panel, "rows", list=name)


def test_a_panel_takes_a_client() -> None:
    """A panel requires a synchronous client."""
    for wrong in (None, AsyncClient(base_url="http://127.0.0.1:1/v1", api_key="k" * 20, journal=False)):
        with pytest.raises(UsageError):
            browse(wrong)


def test_names_of_lists_are_answered(lived: Session) -> None:
    """An unknown list is refused with the known names, and an unknown record with the list's name."""
    with pytest.raises(UsageError, match="the lists are health, contracts, users"):
        browse(lived).open("journal entries")
    with pytest.raises(UsageError, match="has no nothing"):
        browse(lived).show("users", "nothing")


def test_events_arrive_by_the_sandbox_s_clock(lived: Session) -> None:
    """The list shows an event's sandbox time, as a frame does."""
    rows = things.events(lived)

    assert sorted(rows.column("arrived")) == sorted(map(milliseconds, to_frame(lived)["at"]))
    assert rows.columns[0] == Column("arrived", "time")


def test_the_completion_page_of_a_person_is_shown_masked(lived: Session) -> None:
    """The link that support sends to a person is masked until it is revealed."""
    panel = browse(lived)
    listing = panel.open("users")
    at = listing.data.column("application_status").index("needsInformation")
    shown = panel.show("users", key := listing.data.ids[at])
    revealed = answered(panel, "reveal", list="users", id=key)

    assert "Application completion link" in [row["label"] for row in shown["fields"]["rows"]]
    assert "/complete" not in str(shown)
    assert "/complete" in str(revealed["fields"])
