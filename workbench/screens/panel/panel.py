"""Panel with all data that a session can read. A single widget requests rows and details from the kernel."""

import threading
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import Any

import anywidget
import attrs

from workbench.base.arguments import hide_arguments
from workbench.base.errors import InvalidRequest, Problem, UsageError, visible
from workbench.client.calls.base import BaseClient, context_of
from workbench.client.calls.client import refuse_async
from workbench.client.session import sandbox_of
from workbench.sandbox.controls import perform
from workbench.screens import PANES
from workbench.screens.forms import offers
from workbench.screens.forms.answers import REVEAL_SECONDS, private
from workbench.screens.forms.draft import cents_of, no_amount
from workbench.screens.forms.form import Form
from workbench.screens.forms.offers import Offer
from workbench.screens.forms.predecessors import replace_former
from workbench.screens.forms.snippets import Script
from workbench.screens.forms.widgets import (
    Displayed,
    close,
    close_soon,
    css,
    headline,
    in_order,
    static_class,
    what_went_wrong,
)
from workbench.screens.panel import details
from workbench.screens.panel import lists as things
from workbench.screens.panel.cells import Facts, Message, Rows
from workbench.screens.panel.choices import choices
from workbench.screens.panel.explanation import EXPLAINED, explanation
from workbench.screens.panel.file import document, save, script, to_file
from workbench.screens.panel.listing import FIRST, Listing, static_table
from workbench.screens.panel.overview import (
    TILES,
    Filters,
    Scope,
    attention,
    charts,
    check_tiles,
    tiles,
)
from workbench.screens.panel.undo import LastAction
from workbench.service.chains.values import refuse_private_key
from workbench.service.rendering.text import sentence

_STATIC_ROWS = 20
_FILES = {"csv": "CSV", "xlsx": "Excel", "parquet": "Parquet", "html": "HTML", "page": "HTML of all lists read"}
EXPLANATION = "explanation"
"""Name of the list with the rows that add up to a number."""
ALL = "All known users"
"""Input that selects the rewards of all known users."""
_STILL = ("rewards", "sequences", "assumptions", EXPLANATION)
"""Lists that are read again only on request."""


def browse(api: object, *, tiles: Sequence[str | Callable[[Any], object]] = tuple(TILES)) -> "Panel":
    """Return a panel of the records this client can read and the events this session has received.

    Browsing only reads data. Calls with an effect are made in forms, and each form has a send button.

    Args:
        api: A client or a session.
        tiles: Names of the overview's tiles (default: all), or functions that take the `history` of the panel's date
            range and return the value of a tile.

    Raises:
        UsageError: `api` is not a client or session, or a tile is unknown.
    """
    return Panel(api, tiles)


@hide_arguments
def form(call: Any, *, script: Script | None = None, **values: object) -> Form:
    """Return a form for an operation of a client: `form(api.create_user_application)`. Nothing is sent yet.

    In a notebook, the new form closes the forms from earlier runs of its cell, and the forms with the same name.

    Args:
        call: An operation of a client or session.
        script: Script to which "Add to sequence" adds the step. The default is a new script.
        values: Known arguments of the operation, as for `Form.fill`.

    Raises:
        UsageError: `call` is not an operation with arguments, or the operation has no argument with a given name.
        UsageError: A value looks like a private key.
    """
    form = Form(call, script=script, choices=partial(choices, getattr(call, "client", None)))

    def show_thing(name: str, key: str) -> Any:
        panel = Panel(call.client)
        panel.show(name, key)
        form.opened.append(panel)
        return panel.widget

    form.show_thing = show_thing
    if values:
        form.fill(**values)
    replace_former(form)
    return form


class PanelWidget(anywidget.AnyWidget):
    """Browser side of a panel. Its content is not in the widget state, so saved notebooks never contain the content."""

    _esm = script()
    _css = css("panel/page/panel", ".wbp")


class Rewards(Listing):
    """Rewards of one user, or of all known users."""

    def __init__(self, api: Any) -> None:
        super().__init__("rewards", self._read)
        self.user = ""
        """Id or label of the user, or ALL; empty before a user was chosen."""
        self._api = api

    def _read(self) -> Rows:
        user = self.user.strip()
        if not user:
            return Rows(columns=(), cells=(), things=(), ids=(), notes=("Choose a user to read rewards.",))
        refuse_private_key(user, "userId")
        known = choices(self._api, "user_id")
        users = [known.get(user, user)]
        if user == ALL and sandbox_of(self._api) is None:
            users = list(known.values())
        elif user == ALL:  # in a sandbox, only the users that the guide lists for rewards
            users = [user["id"] for user in self._api.sandbox.guide().get("rewards_users", ())]
        return things.rewards(self._api, users)

    def show(self, user: str) -> None:
        """Read the rewards of one user."""
        self.user = user
        self.read()

    def asked(self) -> Message:
        """Return the user whose rewards the page shows, and the users to choose from."""
        return {"user": self.user or ALL, "users": [ALL, *choices(self._api, "user_id")]}


def _buttons(offered: Iterable[Offer]) -> list[Message]:
    """Return the actions as messages for the page. `asks` has the arguments that a person enters."""
    return [
        {"do": offer.do, "label": offer.label, "control": offer.control, "asks": dict(offer.asks)} for offer in offered
    ]


class Panel(Displayed):
    """A panel of lists. A list is read when it is first opened.

    From code, `open("users")` returns a list, and `show("users", id)` opens a record.
    """

    def __init__(self, api: Any, tiles: Sequence[Any] = tuple(TILES)) -> None:
        refuse_async(api, "browse")
        if not isinstance(api, BaseClient):
            raise UsageError(f"browse() takes a Client or a Session, not {type(api).__name__}", of="browse")
        self._api: Any = api
        self.tiles = check_tiles(tiles)
        """The tiles of the overview."""
        self.filters = Filters()
        """The filters of the overview."""
        self._scope: tuple[str, Scope] | None = None  # data of the overview, and the session's stamp when it was read
        self.script = Script(called="panel.script")
        """The steps that forms of the panel added."""
        self.form: Form | None = None
        """The open form."""
        self.pane: Any = None
        """The object that a function in `PANES` opened."""
        self.selected = "overview"
        """The name of the list in view."""
        self.opened: tuple[str, str] | None = None
        """List and id of the open record."""
        self.rewards = Rewards(api)
        self.lists = {name: Listing(name, partial(load, api)) for name, load in things.KINDS.items()}
        self.lists["rewards"] = self.rewards
        self.lists["transactions"] = Listing("transactions", things.Transactions(api))
        self.widget = in_order(PanelWidget())
        self.widget.on_msg(lambda _, asked, __: self.widget.send(self.answer(asked)))
        self.last_action = LastAction(api)
        self._chosen: tuple[Listing, list[str]] | None = None
        self._read_at: dict[str, object] = {}  # stamp of the session when a list was read, by list
        self._lock = threading.RLock()  # the kernel may handle messages in several threads

    @property
    def sandbox(self) -> Any:
        """The sandbox or its remote controls; None for a real service."""
        return sandbox_of(self._api)

    def open(self, name: str, text: str | None = None) -> Listing:
        """Open a list by name. The list is read on first use, and read again if the session changed.

        Args:
            text: Filter for the page to show, such as `status:declined amount>200`; default: none.

        Raises:
            UsageError: The list does not exist.
        """
        self.selected = self._asked_list({"list": name})
        listing = self._current(name)
        self._tell("go", list=name, filter=text)
        return listing

    def show(self, name: str, key: str) -> Message:
        """Open the details of a record: fields, timeline, related events, deliveries and requests, and actions.

        Raises:
            UsageError: The list does not exist, or does not contain the record.
        """
        self.open(name)
        shown = self._on_details({"list": name, "id": key})
        self._close_form()
        self._tell("go", list=name, id=key)
        return shown

    def act(self, do: str, **values: object) -> Form:
        """Open an operation's form for the open record or list. Nothing is sent yet.

        Args:
            do: The operation.
            values: Further arguments of the operation.
        """
        known = {offer.do: arguments for offer, arguments in self._offered()}
        self._close_form()
        self.form = form(getattr(self._api, do), script=self.script, **{**known.get(do, {}), **values})
        self.form.acting, self.form.when_done = self.last_action.acting, self._changed
        self.form.show_thing = self._show_beside
        return self.form

    def _show_beside(self, name: str, key: str) -> None:
        self.show(name, key)

    def close(self) -> None:
        """Close the widget and its form."""
        self._close_form()
        close(self.widget)

    def document(self, every: int = 0) -> str:
        """Return the overview and the lists that were read as a standalone HTML page.

        Args:
            every: Interval in seconds at which the page reloads itself; 0 for never.
        """
        info = self._on_start({})
        about = {name: info[name] for name in ("environment", "host", "tenant")}
        first, last = self.filters.days(things.now(self._api))
        overview: Message = {}
        for part in ("attention", "charts", "tiles"):
            overview |= self._on_overview({"part": part})
        return document(
            f"Workbench: {info['tenant'] or info['host']}",
            self._read(),
            overview=overview,
            about=about,
            every=every,
            at=things.now(self._api),
            notes=[f"Figures and charts: {first} to {last} ({self.filters.zone})."],
        )

    @property
    def html(self) -> str:
        """Return the lists that were read, as static HTML."""
        parts = [headline("Workbench", self._api), "<div>Lists that were read. Run the cell for a live panel.</div>"]
        parts += [static_table(listing, _STATIC_ROWS) for listing in self._read() if len(listing)]
        return f'<div class="wb-read">{"".join(parts)}</div>'

    def __repr__(self) -> str:
        read = ", ".join(f"{listing.name} {len(listing):,}" for listing in self._read())
        return f"<panel on {self._api.environment}: {read or 'nothing read yet'}>"

    def _read(self) -> list[Listing]:
        """Return the lists that were read."""
        return [listing for listing in self.lists.values() if listing.is_read]

    def answer(self, asked: Message) -> Message:
        """Return the answer to a message from the page. Errors are returned as text."""
        number = asked.get("ask")
        try:
            with self._lock:
                return {"answer": number, **getattr(self, f"_on_{asked.get('do')}")(asked)}
        except Exception as error:  # noqa: BLE001 - a widget's callback would hide the error
            return {"answer": number, "error": what_went_wrong(error)}

    def _tell(self, event: str, **facts: object) -> None:
        self.widget.send({"event": event, **facts})

    def _on_start(self, asked: Message) -> Message:
        info, sandbox = self._api.info(), self.sandbox
        return {
            "environment": info["environment"],
            "host": info["host"],
            "key": info["key_fingerprint"],
            "tenant": None if sandbox is None else visible(self._api.sandbox.guide()["tenant"]["name"], 80),
            "lists": [{"name": name, "label": sentence(name)} for name in ("overview", *self.lists)],
            "list": self.selected,
            "id": self.opened[1] if self.opened else None,
            "static": static_class(self.widget),
            "files": _FILES,
            **self._on_tick(asked),
        }

    def _on_overview(self, asked: Message) -> Message:
        """Return a part of the overview: the tasks for people, the tiles with their filters, or the charts."""
        part, stamp = asked.get("part"), self._stamp()
        if part == "attention":
            return {"attention": list(attention(self._rows))}
        if self._scope is None or self._scope[0] != stamp:
            self._scope = stamp, Scope(self._api, self._rows)
        scope = self._scope[1]
        filters = attrs.evolve(self.filters, **asked.get("filters") or {})
        scope.show(filters, things.now(self._api))
        self.filters = filters
        if part == "charts":
            return {"charts": list(charts(scope))}
        return {"filters": attrs.asdict(filters), "tiles": [attrs.asdict(tile) for tile in tiles(scope, self.tiles)]}

    def _on_rows(self, asked: Message) -> Message:
        """Return the rows of a list, or the changes since a page received its rows."""
        name = self._asked_list(asked)
        self.selected, listing = name, self.lists[name]
        if listing is self.rewards and "user" in asked:
            self.rewards.show(str(asked["user"]))
        listing = self._current(name, again=bool(asked.get("again")))
        if asked.get("first") and len(listing) > FIRST:
            rows = listing.columns(limit=FIRST) | {"mark": None, "partial": True}  # its row positions differ
        elif asked.get("mark") is None or "part" in asked:
            rows = listing.columns(int(asked.get("part", 0)))
        else:
            rows = listing.rows_since(asked["mark"])
        panes = [{"do": label, "label": label} for label in self._panes()]
        return {
            **rows,
            "actions": _buttons(offers.of_tab(name, self._api)) + panes,
            **(self.rewards.asked() if listing is self.rewards else {}),
        }

    def _current(self, name: str, *, again: bool = False) -> Listing:
        """Return a list, read again if the session changed. Lists in `_STILL` are read again only on request."""
        listing, stamp = self.lists[name], things.stamp(self._api, name)
        if not listing.is_read or again or (self._read_at.get(name) != stamp and name not in _STILL):
            listing.read()
            if name not in self._read_at:
                self.update_static()
            self._read_at[name] = stamp
        return listing

    def _rows(self, name: str) -> Rows:
        return self._current(name).data

    def _asked_list(self, asked: Message) -> str:
        name = str(asked.get("list"))
        if name not in self.lists:
            raise UsageError(f"the lists are {', '.join(self.lists)}", of="browse")
        return name

    def _number(self, name: str, key: str) -> int:
        """Return the row position of a record."""
        number = self._rows(name).positions.get(key)
        if number is None:
            raise UsageError(f"{name} has no {visible(key, 80)}", of="browse")
        return number

    def _on_details(self, asked: Message) -> Message:
        """Open a record, and return its details and actions."""
        name, key = self._asked_list(asked), str(asked.get("id"))
        listing, number = self.lists[name], self._number(name, key)
        if (name, key) != self.opened:
            self._close_form()
        self.opened = (name, key)
        thing = listing.data.thing(number)
        return {
            "list": name,
            "id": key,
            "fields": details.fields(thing),
            "actions": _buttons(offer for offer, _ in self._offered()),
            "private": bool(private(thing)),
            "states": details.states(name, listing.data.facts(number)),
            "explained": EXPLAINED.get(name, []),
            **({} if name in _STILL else details.related(self._api, key.partition(" ")[0])),
        }

    def _on_reveal(self, asked: Message) -> Message:
        """Return the fields of the open record with private values, and note this in the journal."""
        if self.opened is None or self.opened != (asked.get("list"), asked.get("id")):
            raise UsageError("the record is not open", of="browse")
        name, key = self.opened
        thing = self.lists[name].data.thing(self._number(name, key))
        what = f"{name} {visible(key, 80)}: {', '.join(sorted(private(thing)))}"
        context_of(self._api).note("revealed", f"{what} for {REVEAL_SECONDS:.0f} s")
        return {"fields": details.fields(thing, reveal=True), "seconds": REVEAL_SECONDS}

    def _offered(self) -> list[tuple[Offer, Facts]]:
        """Return the actions for the open record, with their arguments."""
        name, key = self.opened or ("transactions", "")
        data = self._rows(name)
        return offers.of_row(name, data.facts(data.positions[key]), self._api) if key in data.positions else []

    def _on_find(self, asked: Message) -> Message:
        """Find the list that contains a record. If the page names a list, this list is searched first."""
        key, hint = str(asked.get("id")), str(asked.get("to"))
        for name in sorted(self.lists, key=hint.__ne__):
            if name != "rewards" and key in self._rows(name).positions:
                return {"list": name, "id": key}
        raise UsageError(f"{visible(key, 80)} is not known here", of="browse")

    def _on_explain(self, asked: Message) -> Message:
        """Open the list of the postings behind an amount of a transaction, a card or a tile."""
        name, column, key = self._asked_list(asked), str(asked.get("column")), asked.get("id")
        if column not in EXPLAINED.get(name, ()):
            raise UsageError(f"{name} has no explanation of {visible(column, 40)}", of="browse")
        listing = self._current("transactions")
        data = listing.data
        numbers: Iterable[int] = range(len(listing))
        if key is None:
            numbers = listing.select(asked.get("mark"), asked["rows"])
        keys = data.column("card_id" if name == "cards" else "id")
        ids = [data.ids[number] for number in numbers if key in (None, keys[number])]
        self.lists[EXPLANATION] = Listing(EXPLANATION, partial(explanation, self._api, listing, column, ids))
        return {"name": EXPLANATION, "label": sentence(EXPLANATION)}

    def _panes(self) -> Facts:
        """Return the widgets that other packages added to `PANES`; empty outside a sandbox environment."""
        return PANES if self.sandbox is not None and self._api.environment == "sandbox" else {}

    def _offer(self, asked: Message, *, control: bool) -> tuple[Offer, Facts]:
        """Return the operation or control that the page names, with its arguments, if the panel offers it."""
        do, offered = str(asked.get("do_what")), self._offered()
        if asked.get("list"):
            self.opened, offered = None, [(offer, {}) for offer in offers.of_tab(self._asked_list(asked), self._api)]
        for offer, arguments in offered:
            if offer.do == do and offer.control == control and offer.label == asked.get("label", offer.label):
                return offer, arguments
        raise UsageError(f"{visible(do, 60)} is not offered here", of="browse")

    def _on_form(self, asked: Message) -> Message:
        do = str(asked.get("do_what"))
        if do in self._panes():
            self._close_form()
            self.opened, self.pane = None, PANES[do](self._api)
            return {"model": self.pane.widget.model_id}
        if do == "list_rewards_activity" and self.opened is not None:
            self.rewards.show(self.opened[1])
            return {"list": "rewards"}
        offer, _ = self._offer(asked, control=False)
        return {"model": self.act(do, **offers.prefilled(offer, self._api)).widget.model_id}

    def _on_control(self, asked: Message) -> Message:
        """Call a sandbox control that the panel offers for the open record."""
        offer, arguments = self._offer(asked, control=True)
        typed = asked.get("values") or {}
        for name, wants in offer.asks.items():
            if text := str(typed.get(name, "")).strip():
                arguments[name] = cents_of(text) if wants == "money" else text
                if arguments[name] is None:
                    raise InvalidRequest([Problem(name, "cents", no_amount(text))], of="browse")
        with self.last_action.acting():
            answer = perform(self.sandbox, offer.do, arguments)
        self._changed(offers.done(offer.do, answer))
        return {}

    def _on_export(self, asked: Message) -> Message:
        """Write the rows that a page shows, in the order of the page, or the entire panel, to a file."""
        name, kind, overwrite = self._asked_list(asked), str(asked.get("file")), bool(asked.get("overwrite"))
        if kind not in _FILES:
            raise UsageError(f"unknown format {visible(kind, 20)}", of="browse")
        listing, path = self._current(name), f"{name.replace(' ', '-')}.{kind}"
        numbers = listing.select(asked.get("mark"), asked["rows"])
        if kind == "page":
            saved = to_file(self, "workbench.html", overwrite=overwrite)
        elif kind == "html":
            shown = Listing(name, lambda: listing.data.only(numbers))
            notes = [f"Filter: {visible(str(asked['filter']), 400)}"] if asked.get("filter") else []
            page = document(sentence(name), [shown], at=things.now(self._api), notes=notes)
            saved = save(page, path, len(shown), overwrite=overwrite)
        else:
            saved = to_file(listing.frame(numbers), path, overwrite=overwrite)
        return {"text": str(saved)}

    def _on_select(self, asked: Message) -> Message:
        """Store the rows that a person selected, for `selection`."""
        listing = self.lists[self._asked_list(asked)]
        ids = [listing.data.ids[number] for number in listing.select(asked.get("mark"), asked["rows"])]
        self._chosen = (listing, ids) if ids else None
        return {"count": len(ids)}

    @property
    def selection(self) -> Any:
        """Rows selected in the page, as a typed frame with notes.

        If no rows are selected, the frame is an empty frame of the visible list.

        Raises:
            UsageError: No rows are selected, and the overview is visible.
        """
        listing, ids = self._chosen or (self.lists.get(self.selected), [])
        if listing is None:
            raise UsageError(f"open a list first: {', '.join(self.lists)}", of="browse")
        return listing.frame([listing.data.positions[key] for key in ids if key in listing.data.positions])

    def _on_tick(self, asked: Message) -> Message:
        """Return whether anything changed since a stamp. Lists are then read again when they are shown."""
        stamp, clock = self._stamp(), None if self.sandbox is None else things.iso(things.now(self._api))
        return {"stamp": stamp, "changed": stamp != asked.get("stamp"), "clock": clock}

    def _stamp(self) -> str:
        return repr(things.stamp(self._api))

    def _on_undo(self, _: Message) -> Message:
        self._changed(self.last_action.undo(), undone=True)
        return {}

    def _changed(self, done: str, *, undone: bool = False) -> None:
        """Tell the page that an action changed records. Filter, order, details and the form's answer remain.

        Since the action has already taken effect, a failed read becomes a note instead of an error of the action.
        """
        last, stamp = self.last_action, ""
        text = f"Undone: {done}. Webhooks already delivered are not undone." if undone else f"{done}.{last.refusal}"
        try:
            last.end(done)
            if undone:
                self._close_form()
                context_of(self._api).note("undone", f"{done}: the sandbox has its earlier state again")
            self.update_static()
            stamp = self._stamp()
        except Exception as error:  # noqa: BLE001 - the message shows the error after the completed action
            text += f" Refresh the lists: {what_went_wrong(error)}"
        self._tell("changed", stamp=stamp, text=text, undo=last.undoable is not None)

    def _on_close_form(self, _: Message) -> Message:
        self._close_form()
        return {}

    def _close_form(self) -> None:
        if self.form is not None:
            self.form.close()
            self.form = None
        if self.pane is not None:
            close_soon([self.pane.widget])
            self.pane = None
