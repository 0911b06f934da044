"""What a panel shows: each resource as rows, with what a row opens to. Reads alone; nothing here has an effect."""

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from workbench import chains
from workbench.errors import InvalidRequest
from workbench.forms.known import answered, entries, guide, told
from workbench.forms.rows import View, of_frame, view
from workbench.interface.assumptions import assumptions
from workbench.rendering.values import NO_FUNDS, TEST_CHAINS
from workbench.session import sandbox_of


def contracts(api: Any) -> View:
    """Yield the contracts, a row for each token."""
    listed = api.list_contracts()
    notes = (f"{NO_FUNDS}: these are chains without money.",) if any(o.chain_id in TEST_CHAINS for o in listed) else ()

    def rows() -> Iterator[tuple[tuple[Any, ...], Any, str]]:
        for one in listed:
            chain = str(chains.chain_of(one.chain_id)) if type(one.chain_id) is int else str(one.chain_id)
            for token in one.tokens or (None,):
                held = (
                    (None,) * 4
                    if token is None
                    else (token.address, token.balance, token.exchange_rate, token.advance_rate)
                )
                yield (chain, one.id, *held, one.deposit_address), one, one.id

    columns = ("chain", "contract_id", "token", "balance", "exchange_rate", "advance_rate", "deposit_address")
    return view(columns, rows(), *notes)


def users(api: Any) -> View:
    """Return users, companies and owners known here: from the sandbox's guide, calls of this journal, and events."""
    known: dict[str, dict[str, Any]] = {}

    def meet(key: Any, **facts: Any) -> None:
        if isinstance(key, str):
            known.setdefault(key, {"id": key, "kind": "user"}).update(facts)

    listed = guide(api)
    for status, ids in listed.get("users", {}).items():
        for key in ids:
            meet(key, application_status=str(status), known_from="guide of the sandbox")
    for company in listed.get("companies", ()):
        meet(company["id"], kind="company", known_from="guide of the sandbox")
        for owner in company["owners"]:
            meet(
                owner["id"], kind="owner", application_status=str(owner["status"]), company_id=company["id"],
                known_from="guide of the sandbox",
            )  # fmt: skip
    for entry, answer in answered(api, "create_user_application", "update_user"):
        meet(
            answer.get("id"), application_status=answer.get("applicationStatus"), seen=entry.started,
            known_from=f"journal {entry.id}", external_id=answer.get("externalId"),
        )  # fmt: skip
    for kept in told(api):
        if kept.event.kind == "user.updated":
            status = kept.event.body.application_status
            meet(kept.event.body.id, application_status=str(status), seen=kept.arrived, known_from="event")
    columns = ("id", "kind", "application_status", "external_id", "seen", "known_from")
    return view(columns, ((tuple(one.get(name) for name in columns), one, one["id"]) for one in known.values()))


def payment_accounts(api: Any) -> View:
    """Return payment accounts made or deleted here; the service lists none."""
    known: dict[str, dict[str, Any]] = {
        key: {"id": key, "known_from": "guide of the sandbox"} for key in guide(api).get("payment_accounts", ())
    }
    for entry, answer in answered(api, "create_payment_account"):
        key = str(answer.get("id"))
        known[key] = {
            "id": key, "nickname": answer.get("nickname"), "type": answer.get("type"), "made": entry.started,
            "known_from": f"journal {entry.id}", "answer": answer,
        }  # fmt: skip
    for entry in entries(api):
        if entry.operation == "delete_payment_account" and entry.outcome == "done":
            key = str(entry.request.get("paymentAccountId"))
            known.setdefault(key, {"id": key, "known_from": f"journal {entry.id}"})["deleted"] = entry.started
    columns = ("id", "nickname", "type", "made", "deleted", "known_from")
    rows = ((tuple(one.get(name) for name in columns), one, key) for key, one in known.items())
    return view(columns, rows, "The service has no list of payment accounts: these are the ones known here.")


def disputes(api: Any) -> View:
    """Return disputes known here."""
    known = {
        key: {"id": key, "status": str(status), "known_from": "guide of the sandbox"}
        for status, ids in guide(api).get("disputes", {}).items()
        for key in ids
    }
    for entry, answer in answered(api, "update_dispute"):
        key = str(answer.get("id") or entry.request.get("disputeId"))
        known[key] = {"id": key, "status": str(answer.get("status") or ""), "known_from": f"journal {entry.id}"}
    columns = ("id", "status", "known_from")
    return view(columns, ((tuple(one.get(name) for name in columns), one, key) for key, one in known.items()))


def rewards(api: Any, user_id: str, **asked: Any) -> View:
    """Return the rewards activity of a user, all pages that the interface reaches."""
    from workbench.tables.reads import read_rewards

    return of_frame(read_rewards(api, [user_id], progress=False, **asked).frame(), "id")


def transactions(api: Any) -> View:
    """Yield the transactions that events told of, each as its newest event says."""
    newest: dict[str, Any] = {}
    for kept in told(api):
        if kept.event.kind.startswith("transaction.") and isinstance(getattr(kept.event.body, "id", None), str):
            newest[kept.event.body.id] = kept
    columns = ("id", "status", "amount", "currency", "merchant_name", "card_id", "event", "arrived")

    def rows() -> Iterator[tuple[tuple[Any, ...], Any, str]]:
        for key, kept in newest.items():
            spend = getattr(kept.event.body, "spend", None)
            facts = [
                getattr(spend, name, None) for name in ("status", "amount", "currency", "merchant_name", "card_id")
            ]
            yield (key, *facts, kept.event.kind, kept.arrived), kept.event, key

    return view(columns, rows(), "Amounts are in cents.")


def sequences(_: Any) -> View:
    """Return the sequences of the catalogue, each with its file."""
    from workbench.sequences import catalogue

    columns = ("name", "steps", "doc")
    return view(columns, (((name, len(one.steps), one.doc), one, name) for name, one in catalogue.items()))


def events(api: Any) -> View:
    """Return the events received."""
    columns = ("sequence", "kind", "about", "arrived", "verified", "times", "id")
    rows = (
        (
            (one.sequence, one.event.kind, getattr(one.event.body, "id", None), one.arrived, one.verified, one.times, one.event.id),
            one.event,
            str(getattr(one.event.body, "id", one.event.id)),
        )
        for one in told(api)
    )  # fmt: skip
    return view(columns, rows)


def deliveries(api: Any) -> View:
    """Return the deliveries of the sandbox to registered endpoints, and what the inbox refused."""
    sandbox = sandbox_of(api)
    found = [] if sandbox is None else sandbox.deliveries()
    refused = [
        {"state": f"refused: {one.reason}", "at": one.at}
        for one in getattr(getattr(api, "inbox", None), "refusals", ())
    ]
    rows = [*found, *refused]
    columns = tuple(
        dict.fromkeys(name for row in rows for name, value in row.items() if not isinstance(value, list | dict))
    )
    note = "Deliveries go to endpoints: api.sandbox.register_endpoint(url) makes one." if sandbox is not None else ""
    made = (((tuple(row.get(name) for name in columns)), row, str(row.get("event_id", ""))) for row in rows)
    return view(columns or ("state",), made, *([note] if note and not rows else []))


def journal(api: Any) -> View:
    """Return the calls with an effect and how they ended."""
    columns = ("started", "outcome", "operation", "what", "environment", "id")
    rows = ((tuple(getattr(one, name) for name in columns), _entry(one), one.id) for one in entries(api))
    return view(columns, ((tuple(map(_text, row)), thing, key) for row, thing, key in rows))


def _text(value: Any) -> Any:
    return str(value) if isinstance(value, str) else value


def _entry(one: Any) -> dict[str, Any]:
    said = {
        name: getattr(one, name) for name in ("id", "what", "operation", "environment", "started", "ended", "status")
    }
    said |= {"outcome": str(one.outcome), "error": one.error, "request": dict(one.request), "answer": one.answer}
    said |= {"next step": one.next_step, "resend of": one.resend_of}
    return {name: value for name, value in said.items() if value not in (None, {}, [])}


def guesses(_: Any) -> View:
    """Return every guess about the service."""
    columns = ("where", "value", "confidence", "reason", "id")
    rows = ((tuple(_text(getattr(one, name)) for name in columns), one, one.id) for one in assumptions())
    return view(columns, rows)


VIEWS: Mapping[str, Callable[[Any], View]] = {
    "contracts": contracts, "users": users, "payment accounts": payment_accounts, "disputes": disputes,
    "transactions": transactions, "sequences": sequences, "events": events, "deliveries": deliveries,
    "journal": journal, "assumptions": guesses,
}  # fmt: skip
"""The tabs of a panel that need no question; rewards ask for a user first."""


def read(name: str, api: Any) -> View:
    """Return a view by its name.

    Raises:
        InvalidRequest: There is none of that name.
        WorkbenchError: As the call behind it.
    """
    make = VIEWS.get(name)
    if make is None:
        raise InvalidRequest(f"the views are {', '.join(VIEWS)}", of="browse")
    return make(api)
