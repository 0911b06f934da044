"""Every place that is searched for planted values, with a function that reads it and the values that may occur there."""

import io
import json
import logging
import pprint
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path
from typing import Any
from zipfile import ZipFile

import attrs
import ipywidgets
import pandas as pd
import pytest
from rich.pretty import pretty_repr

import workbench as wb
from tests.canaries.conftest import Life
from tests.canaries.planted import ACCOUNT, BUSINESS, CHANGES, OWNER, PERSON
from workbench.runs.sequences.sequence import dumps
from workbench.screens.forms.answers import Reveal
from workbench.service import rendering
from workbench.service.interface.table import OPERATIONS
from workbench.terminal import main

Texts = Iterable[str | bytes]
HERE = Path(__file__).parents[2]


@attrs.frozen
class Place:
    """A place in which a planted value could be stored or shown."""

    read: Callable[[Life, Path], Texts]
    says: str  # text that must occur in the output, which shows that the output is not empty
    belongs: frozenset[str] = frozenset()  # planted values that must occur in this output; no others may
    slow: bool = False


# results of calls, in every representation


def _shown(show: Callable[[Any], Any]) -> Callable[[Life, Path], Texts]:
    def read(life: Life, _: Path) -> Iterator[str]:
        for thing in life.things.values():
            for one in (thing, *(thing if type(thing) is list else ())):
                try:
                    yield str(show(one))
                except (AttributeError, TypeError) as error:
                    yield str(error)

    return read


def _logged(thing: Any) -> str:
    record = logging.LogRecord("a", logging.DEBUG, "a", 1, "%s %r", (thing, thing), None)
    return logging.Formatter().format(record)


def _in_ipython(thing: Any) -> str:
    from IPython.lib import pretty

    show: Callable[[Any], str] = pretty.pretty
    return show(thing) + str(getattr(thing, "_repr_html_", str)())


SHOWN: dict[str, Callable[[Any], Any]] = {
    "repr": repr, "str": str, "f-string": "{0!s:>10} {0!r}".format, "percent": lambda x: "%s" % (x,),  # noqa: UP031 - one of the ways
    "pprint": pprint.pformat, "rich": pretty_repr, "a log line": _logged, "IPython": _in_ipython, "plain face": rendering.plain,
    "HTML face": rendering.html,
}  # fmt: skip


# files


def _file(*names: str) -> Callable[[Life, Path], Texts]:
    def read(life: Life, _: Path) -> Iterator[bytes]:
        for name in names:
            (life.folder / name).stat()  # raises an error if the file is missing
            for beside in life.folder.glob(f"{name}*"):
                yield beside.read_bytes()

    return read


def _state(life: Life, _: Path) -> Iterator[bytes]:
    for one in (life.folder / "state").rglob("*"):
        yield str(one).encode()
        yield one.read_bytes() if one.is_file() else b""


def _sequence_files(life: Life, folder: Path) -> Iterator[str]:
    yield dumps(life.things["sequence"])
    with wb.connect(seed=5) as api:
        form = wb.form(api.create_user_application, **PERSON)
        form.add_to_sequence()
        yield dumps(form.script.sequence)
        form.close()


# tables and exports

FRAMED = (
    "application",
    "update",
    "owner",
    "account",
    "business account",
    "dispute",
    "unknown member",
    "received",
    "contracts",
)


def _tables(life: Life) -> Iterator[tuple[str, Any]]:
    for name in FRAMED:
        thing = life.things[name]
        yield name, wb.to_frame(thing if isinstance(thing, list) else [thing])


def _frames(life: Life, _: Path) -> Iterator[str]:
    for _name, table in _tables(life):
        yield from (table.to_string(), table.to_html(), repr(table.to_dict()), repr(table.attrs), pretty_repr(table))


def _exports(kind: str) -> Callable[[Life, Path], Texts]:
    def read(life: Life, folder: Path) -> Iterator[str | bytes]:
        for name, table in _tables(life):
            saved = folder / f"{name}.{kind}"
            wb.to_file(table, saved)
            yield saved.read_bytes()
            if kind == "xlsx":
                with ZipFile(saved) as packed:
                    yield from (packed.read(one) for one in packed.namelist())
            if kind == "parquet":  # Parquet pages are compressed
                yield repr(pd.read_parquet(saved).to_dict())

    return read


def _panel_exports(life: Life, folder: Path) -> Iterator[bytes]:
    panel = wb.browse(life.api)
    for name in ("users", "payment accounts", "disputes", "events", "requests"):
        wb.to_file(panel.open(name).frame(), folder / f"{name}.csv")
        yield (folder / f"{name}.csv").read_bytes()
    with wb.connect(seed=7) as api:
        api.create_user_application(**PERSON)
        exported = (panel, wb.browse(api), life.things["kept"], *(table for _, table in _tables(life)))
        for number, each in enumerate(exported):
            yield wb.to_file(each, folder / f"{number}.html").path.read_bytes()
    panel.close()


# widgets


def widgets() -> str:
    """Return the state of all open widgets, as a notebook saves it."""
    return json.dumps(ipywidgets.Widget.get_manager_state(drop_defaults=False), default=str)


def _filled(api: Any) -> dict[str, dict[str, Any]]:
    """Return arguments for the form of each operation that has arguments."""
    guide = api.sandbox.guide()
    user, company = guide["users"]["approved"][0], guide["companies"][0]
    contract = api.list_contracts()[0]
    charged = api.simulate_authorization(
        card_id=guide["cards"]["active"][0],
        amount=1250,
        currency="USD",
        merchant_name="Shop",
        merchant_category_code="5411",
    )
    made = api.create_payment_account(user_id=user, **BUSINESS)
    owner = next(one["id"] for one in company["owners"] if one["status"] == "needsInformation")
    return {
        "sign_withdrawal": {
            "chain_id": contract.chain_id, "token": contract.tokens[0].address, "amount": "100", "is_amount_native": False,
            "admin_address": contract.admin_addresses[0], "recipient_address": contract.admin_addresses[0],
        },
        "simulate_authorization": {
            "card_id": guide["cards"]["active"][0], "amount": 1300, "currency": "USD", "merchant_name": "Shop",
            "merchant_category_code": "5411",
        },
        "simulate_reversal": {"transaction_id": charged.transaction_id, "new_amount": 0},
        "simulate_refund": {"transaction_id": charged.transaction_id, "amount": 1},
        "create_payment_account": {"user_id": user, **ACCOUNT},
        "delete_payment_account": {"payment_account_id": made.id},
        "update_user": {"user_id": user, **CHANGES},
        "update_ubo": {"company_id": company["id"], "ubo_id": owner, **OWNER},
        "update_dispute": {"dispute_id": guide["disputes"]["pending"][0], "text_evidence": "Zqevidence of it"},
        "create_user_application": PERSON,
        "list_rewards_activity": {"user_id": user},
    }  # fmt: skip


def _forms(_: Life, __: Path) -> Iterator[str]:
    """Yield the texts of a form of every operation: filled in and closed; sent; with a revealed and hidden answer."""
    with wb.connect(seed=11) as api:
        filled = _filled(api)
        assert set(filled) == {name for name in OPERATIONS if name != "list_contracts"}
        for name, values in filled.items():
            closed = wb.form(getattr(api, name)).fill(**values)
            yield from (repr(closed), closed.html, *closed.snippets.values(), closed.put_in_cell())
            closed.close()
            sent = wb.form(getattr(api, name)).fill(**values)
            try:
                answer = sent.submit()
            except wb.WorkbenchError as error:  # a reversed purchase cannot be refunded, so an error is expected
                answer = None
                yield str(error)
            yield from (repr(sent), sent.html, widgets(), pretty_repr(sent))
            if answer is not None and name in {"create_user_application", "create_payment_account", "update_user"}:
                Reveal(answer, api, ipywidgets.VBox()).hide()
        yield widgets()


def _panel(life: Life, _: Path) -> Iterator[str]:
    panel = wb.browse(life.api)
    yield json.dumps([panel.answer({"do": do}) for do in ("start", "overview", "tick")])
    for name, listing in panel.lists.items():
        yield json.dumps(panel.answer({"do": "rows", "list": name}))
        for key in listing.ids[:12]:
            yield json.dumps(panel.answer({"do": "details", "list": name, "id": key}))
    yield from (panel.html, repr(panel), widgets())
    panel.close()


def _bulk(_: Life, folder: Path) -> Iterator[str]:
    with wb.connect(seed=12) as api:
        result = wb.bulk.run(api.create_user_application, [PERSON], path=folder / "bulk.run", progress=False)
        yield from (repr(result), str(result), result._repr_html_())


# the terminal


def command(*words: str) -> str:
    """Run a command line in this process, and return all its output."""
    out = io.StringIO()
    with redirect_stdout(out), redirect_stderr(out):
        main(list(words))
    return out.getvalue()


def options(values: dict[str, Any]) -> Iterator[str]:
    """Yield arguments as the options of a command."""
    for name, value in values.items():
        if isinstance(value, dict):
            yield from options({f"{name}.{inner}": one for inner, one in value.items()})
        else:
            yield from (f"--{name.replace('_', '-')}", str(value).lower() if isinstance(value, bool) else str(value))


def _terminal(_: Life, folder: Path) -> Iterator[str]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("WORKBENCH_STATE", str(folder / "state"))
        patch.setenv("WORKBENCH_API_KEY", "zq-api-key-7731")
        patch.setenv("WORKBENCH_WEBHOOK_KEY", "zq-webhook-key-7731")
        made = command("users", "create", *options(PERSON), "-o", "json")
        yield made
        user = json.loads(made[made.index("{") : made.rindex("}") + 1])["id"]
        yield command("users", "update", user, *options(CHANGES))
        yield command("payment-accounts", "create", *options({"user_id": user, **ACCOUNT}))
        yield command("users", "create", *options({**PERSON, "national_id": "000771293x"}))
        yield command("sandbox", "deposit", "1.77", "--description", "ZQMEMO", "--originator-name", "Zqoriginator")
        for output in ("table", "json", "ndjson", "csv"):
            yield command("events", "list", "-o", output)
            yield command("journal", "list", "-o", output)
            yield command("sandbox", "state", user, "-o", output)
            yield command("sandbox", "events", "-o", output)
            yield command("sandbox", "requests", "-o", output)
        yield from (
            command("journal", "list", "-o", "ndjson"),
            command("journal", "unknown"),
            command("profiles", "check"),
            command("profiles", "list"),
        )
        yield command("events", "trigger", "user.updated", "--url", "http://127.0.0.1:9/")


# reports about the client


def _reports(life: Life, _: Path) -> Iterator[str]:
    for api in (life.api, life.things["client"], life.things["production"]):
        yield from (repr(api.info()), json.dumps(api.info()), repr(api), repr(api.notices), repr(api.journal.notes))
        yield repr(api.allowing(again=True)) + str(api.limits) + str(api.armed)
    yield repr(wb.assumptions())
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("WORKBENCH_API_KEY", "zq-api-key-7731")
        patch.setattr(sys, "argv", ["workbench"])
        yield command("profiles", "check")


# notebooks


def _notebooks(_: Life, __: Path) -> Iterator[bytes]:
    """Yield the files of the shipped notebooks, with sources, outputs and metadata."""
    for one in sorted((HERE / "notebooks").glob("*.ipynb")):
        yield one.read_bytes()


EVENTS = frozenset(
    {"first name", "link", "link signature", "trial amount", "memo", "originator", "cardholder's first name",
     "cardholder's last name", "cardholder's email"}
)  # fmt: skip

PLACES: dict[str, Place] = {
    **{f"what is given back, by {name}": Place(_shown(show), "approved") for name, show in SHOWN.items()},
    "logs at DEBUG": Place(lambda life, _: life.log, "undocumented members ("),
    "the journal": Place(_file("journal.db"), "create_user_application"),
    "the journal of production": Place(_file("production.db"), "create_user_application"),
    "a bulk run's file": Place(_file("bulk.run"), "create_user_application"),
    "a kept sequence's file": Place(_file("kept.run"), "create_user_application"),
    "the state folder": Place(_state, "secret"),
    "the inbox": Place(_file("inbox.db"), "user.updated", belongs=EVENTS),
    "sequence files": Place(_sequence_files, "create_user_application"),
    "tables": Place(_frames, "approved"),
    "CSV": Place(_exports("csv"), "approved"),
    "XLSX": Place(_exports("xlsx"), "approved"),
    "Parquet": Place(_exports("parquet"), "approved"),
    "exports of the panel": Place(_panel_exports, "approved"),
    "forms and their widgets": Place(_forms, "wb-form", slow=True),
    "the panel and its widgets": Place(_panel, "timeline", slow=True),
    "bulk work": Place(_bulk, "create_user_application", slow=True),
    "the terminal": Place(_terminal, "9 digits", slow=True),
    "reports about a client": Place(_reports, "key_fingerprint"),
    "shipped notebooks": Place(_notebooks, "wb.connect(seed=7"),
}
"""Places by name. Errors have a separate table, `ends.ENDS`, which is tested in all modes of tracebacks."""
