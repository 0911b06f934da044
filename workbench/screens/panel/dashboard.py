"""Dashboard of a card program: tiles and charts for today and a date range, filters, panel links, and HTML export."""

import os
import threading
from collections.abc import Callable, Iterator, Mapping
from datetime import UTC, date, datetime, timedelta
from functools import cached_property, partial
from html import escape
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo, available_timezones

import anywidget
import attrs
import ipywidgets

from workbench.analysis import charts
from workbench.analysis.reports.history import History, history
from workbench.analysis.rewards.reading import fetch as fetch_rewards
from workbench.analysis.tables.frames import to_frame
from workbench.base.errors import UsageError, visible
from workbench.base.schema.rules import iso_day
from workbench.client.calls.base import BaseClient
from workbench.client.calls.client import refuse_async
from workbench.client.session import connect, sandbox_of, tenants_of
from workbench.screens.forms.widgets import Displayed, css, hiding, what_went_wrong
from workbench.screens.panel import lists as things
from workbench.screens.panel.file import document
from workbench.screens.panel.listing import Listing
from workbench.screens.panel.panel import Panel, browse, tiles
from workbench.service.rendering import money
from workbench.service.rendering.elements import isolated

_HERE = Path(__file__).parent
RANGES: Mapping[str, str] = {
    "today": "Today", "week": "Last 7 days", "month": "This month", "last": "Last month", "quarter": "Last 90 days",
    "year": "Last 365 days", "custom": "From … to …",
}  # fmt: skip
_OF_PANEL = ("Credit capacity", "Pending reviews", "Failed deliveries", "Unknown outcomes")
"""Tiles of the panel's overview that do not depend on the date range."""
_TOP = 6  # bars of a chart
_LISTS = ("contracts", "users", "transactions", "disputes", "deliveries")  # of an exported dashboard
Part = tuple[str, str]  # a place on the page, and its HTML


def dashboard(api: object = None, **others: object) -> "Dashboard":
    """Return a dashboard of a program's activity today and in a date range, with filters and links to the panel.

    It only reads. In a notebook it is interactive; `wb.to_file(dashboard, "june.html")` writes one HTML file.

    Args:
        api: A Client or a session. Default: the session of WORKBENCH_PROFILE, or an embedded sandbox with a year of a
            program.
        others: Sessions of further tenants by display name; those of a sandbox are added automatically.

    Raises:
        UsageError: An argument is not a client or session.
    """
    if api is None:
        api = connect() if os.environ.get("WORKBENCH_PROFILE") else connect(world="program")
    refuse_async(api, "dashboard")
    sessions: dict[str, Any] = {"api": api, **others}
    for name, session in sessions.items():
        if not isinstance(session, BaseClient):
            period = "; choose a period on the page, or in `filters`" if name != "api" else ""
            raise UsageError(f"{name} must be a Client or a session{period}", of="dashboard")
    return Dashboard({**tenants_of(sessions.pop("api")), **sessions})


@attrs.define
class Filters:
    """Filters of a dashboard: a date range with time zone, a tenant, and one of its programs ("" for all)."""

    range: str = "month"
    since: str = ""
    until: str = ""
    tenant: str = ""
    program: str = ""
    zone: str = "UTC"

    def period(self, now: datetime) -> tuple[datetime, datetime]:
        """Return the start of the range, and the first moment after it.

        Raises:
            UsageError: A date of the range is invalid, or the range ends before it starts.
        """
        today = now.astimezone(ZoneInfo(self.zone)).date()
        days = {"today": 0, "week": 6, "quarter": 89, "year": 364}
        first, last = today.replace(day=1), today
        if self.range in days:
            first = today - timedelta(days=days[self.range])
        elif self.range == "last":
            last = first - timedelta(days=1)
            first = last.replace(day=1)
        elif self.range == "custom":
            for text in filter(None, (self.since, self.until)):
                if iso_day(text) is None:
                    raise UsageError(f"{visible(text, 20)} is not a date (2026-01-31)", of="dashboard")
            first, last = iso_day(self.since) or first, iso_day(self.until) or today
            if last < first:
                raise UsageError("the range ends before it starts", of="dashboard")
        return self._start(first), self._start(last + timedelta(days=1))

    def _start(self, day: date) -> datetime:
        return datetime(day.year, day.month, day.day, tzinfo=ZoneInfo(self.zone)).astimezone(UTC)


class DashboardWidget(anywidget.AnyWidget):
    """Browser side of a dashboard. Its content is not part of the widget state, so saved notebooks never contain it."""

    _esm = _HERE / "dashboard.js"
    _css = css("panel/dashboard", ".wbd")


class Books:
    """Data of one tenant; each part is read on first use."""

    def __init__(self, api: Any, panel: Panel) -> None:
        self.api, self.panel = api, panel
        self.stamp = things.stamp(api)

    @cached_property
    def history(self) -> History:
        """All card transactions."""
        return history(self.api)

    @cached_property
    def users(self) -> Mapping[str, Mapping[str, Any]]:
        """Known facts about each user, by id."""
        data = self.panel.lists["users"].data
        return {key: data.facts(number) for number, key in enumerate(data.ids)}

    @property
    def programs(self) -> list[str]:
        """Card programs of the users."""
        return sorted({program for user in self.users.values() if (program := program_of(user))})

    @property
    def members(self) -> list[str]:
        """Ids of the known users, without owners of companies."""
        return [key for key, user in self.users.items() if user.get("kind") == "user"]

    @cached_property
    def rewards(self) -> Any:
        """Rewards activity of all known users."""
        return fetch_rewards(self.api, self.members, progress=False).frame()


def program_of(user: Mapping[str, Any]) -> str:
    """Return the card program of a user: the part of the external id before the first hyphen.

    The interface has no card programs, but most tenants build their external ids this way.
    """
    program, hyphen, _ = str(user.get("external_id") or "").partition("-")
    return program if hyphen else ""


class Dashboard(Displayed):
    """A dashboard. From code: `filters`, and `books` with the frames behind it."""

    def __init__(self, sessions: Mapping[str, Any]) -> None:
        self.sessions = dict(sessions)
        self.filters = Filters(tenant=next(iter(sessions)))
        self.page = DashboardWidget()
        self.page.on_msg(lambda _, asked, __: self.answer(asked))
        self._below = ipywidgets.VBox([])
        self.widget = ipywidgets.VBox()
        self.widget.children = (hiding(self.widget), self.page, self._below)
        self._books: dict[str, Books] = {}
        self._lock = threading.RLock()

    @property
    def books(self) -> Books:
        """Data of the chosen tenant, read again after a change."""
        name, api = self.filters.tenant, self.sessions[self.filters.tenant]
        known = self._books.get(name)
        if known is None or known.stamp != things.stamp(api):
            panel = browse(api) if known is None else known.panel
            for listing in panel.lists.values():
                if listing.is_read and listing.name != "rewards":
                    listing.read()
            known = self._books[name] = Books(api, panel)
        return known

    @property
    def html(self) -> str:
        """The dashboard as static HTML."""
        return f"<style>{css('panel/dashboard', '.wbd')}</style>{self._still()}"

    def __repr__(self) -> str:
        return f"<dashboard of {self.filters.tenant}: {RANGES[self.filters.range].lower()}>"

    @property
    def saved(self) -> str:
        """HTML for a saved notebook; it contains no figures, which are computed on demand."""
        return "<div>Run the cell for the dashboard.</div>"

    @property
    def lists(self) -> Mapping[str, Listing]:
        """Lists of the chosen tenant behind the dashboard's figures."""
        return {name: self.books.panel.lists[name] for name in _LISTS}

    def document(self, every: int = 0) -> str:
        """Return the dashboard as a standalone HTML page: figures, charts, and the lists behind them.

        Args:
            every: Seconds after which the page reloads itself; 0 for never.
        """
        info, now = self.books.api.info(), things.now(self.books.api)
        about = {"environment": str(info["environment"]), "host": str(info["host"]), "tenant": self.filters.tenant}
        lists = list(self.lists.values())
        for listing in lists:
            listing.read()
        title = f"Dashboard of {self.filters.tenant}"
        return document(title, lists, lead=self._still(), about=about, at=now, every=every)

    def _still(self) -> str:
        parts = dict(self.parts(live=False))
        places = "".join(_place(name, parts[name]) for name in PARTS)
        cards = f'{parts["tiles"]}<div class="cards">{places}</div>'
        return f'<section class="wbd">{self.head(live=False)}{cards}</section>'

    # for the page

    def answer(self, asked: Mapping[str, Any]) -> None:
        """Answer a message of the page; errors are shown as text."""
        try:
            with self._lock:
                _ANSWERS[str(asked.get("do"))](self, asked)
        except Exception as error:  # noqa: BLE001 - the callback of a widget would lose it
            self.page.send({"say": what_went_wrong(error)})

    def _show(self, asked: Mapping[str, Any]) -> None:
        """Send the head if it changed, then each part when it is ready."""
        wanted = {name: str(value) for name, value in (asked.get("filters") or {}).items()}
        changed = attrs.evolve(self.filters, **{name: wanted[name] for name in wanted if hasattr(self.filters, name)})
        if changed.tenant not in self.sessions or changed.range not in RANGES:
            raise UsageError("there is no such tenant or range", of="dashboard")
        if changed.zone not in available_timezones():
            raise UsageError(f"{visible(changed.zone, 60)} is not a time zone (Europe/Paris)", of="dashboard")
        changed.period(things.now(self.books.api))  # refused before anything changes
        if changed.tenant != self.filters.tenant:
            changed.program = ""
        first = not wanted or (changed.tenant, changed.range) != (self.filters.tenant, self.filters.range)
        self.filters = changed
        number = asked.get("number")
        if first:
            places = "".join(_place(name, "") for name in PARTS)
            head = self.head(live=True)
            body = f'{head}<div data-part="tiles" aria-busy="true"></div><div class="cards">{places}</div>'
            self.page.send({"number": number, "html": body})
        else:
            self.page.send({"number": number, "part": "title", "text": self._title()})
        for name, text in self.parts(live=True):
            self.page.send({"number": number, "part": name, "text": text})
        self.page.send({"number": number, "say": "", "done": True})

    def _open(self, asked: Mapping[str, Any]) -> None:
        """Open a filtered list of the panel below."""
        panel = self.books.panel
        name, text = str(asked.get("list")), str(asked.get("filter") or "")
        panel.open(name, text)
        self._below.children = (panel.widget,)
        self.page.send({"below": True})

    def _export(self, _: Mapping[str, Any]) -> None:
        self.page.send({"file": self.document(), "name": f"dashboard-{things.now(self.books.api):%Y-%m-%d}.html"})

    # what is shown

    def head(self, *, live: bool) -> str:
        """Return the title, source of the data, range, and filters as controls or text."""
        return f'<header data-part="title">{self._title()}</header>{self._controls() if live else ""}'

    def _title(self) -> str:
        """Return the text of the head, which depends on the filters and so is part of the page."""
        api, now = self.books.api, things.now(self.books.api)
        info, clock = api.info(), "sandbox clock" if sandbox_of(api) is not None else "now"
        where = str(info["environment"])
        since, until = (edge.astimezone(ZoneInfo(self.filters.zone)) for edge in self.filters.period(now))
        last = (until - timedelta(seconds=1)).date()
        text = " to ".join(dict.fromkeys(f"{day.day} {day:%b %Y}" for day in (since.date(), last)))
        program = f" · {isolated(self.filters.program)}" if self.filters.program else ""
        return (
            f'<h1>Dashboard</h1><span class="where {escape(where)}">{escape(where.upper())}</span>'
            f'<span class="quiet">{isolated(self.filters.tenant)}{program} · {text} ({escape(self.filters.zone)}) · '
            f"{clock} {now:%Y-%m-%d %H:%M} UTC</span>"
        )

    def _controls(self) -> str:
        chosen, programs = self.filters, self.books.programs
        dates = "".join(
            f'<label>{label}<input type="date" data-filter-name="{name}" '
            f'value="{escape(getattr(chosen, name))}"></label>'
            for label, name in (("From", "since"), ("To", "until"))
            if chosen.range == "custom"
        )
        zones = "".join(f'<option value="{escape(timezone)}">' for timezone in sorted(available_timezones()))
        tenants, of_all = dict.fromkeys(self.sessions), {"": "All"} | dict.fromkeys(programs)
        return (
            f'<form class="filters" aria-label="Filters">{_select("Range", "range", RANGES, chosen.range)}{dates}'
            f"{_select('Tenant', 'tenant', tenants, chosen.tenant)}"
            f"{_select('Card program', 'program', of_all, chosen.program)}"
            f'<label>Time zone<input list="wbd-zones" data-filter-name="zone" value="{escape(chosen.zone)}"></label>'
            f'<datalist id="wbd-zones">{zones}</datalist>'
            '<span class="far"><button type="button" data-do="export">Export as HTML</button></span></form>'
            '<p class="say" role="status" hidden></p>'
        )

    def parts(self, *, live: bool) -> Iterator[Part]:
        """Yield the parts of the page when they are ready: tiles, then each chart."""
        books, chosen = self.books, self.filters
        tile, card = partial(_tile, live=live), partial(_card, live=live)
        since, until = chosen.period(things.now(books.api))
        whole = books.history
        if chosen.program:
            members = {key for key, user in books.users.items() if program_of(user) == chosen.program}
            postings = whole.postings()
            whole = history(postings[postings["user_id"].isin(members)])
        if len(codes := whole.facts["currency"].value_counts()) > 1:
            whole = whole.filter(currency=str(codes.index[0]))
        days_shown = (f"{since.astimezone(ZoneInfo(chosen.zone)):%Y-%m-%d}", _last_day(until, chosen.zone))
        shown_history = whole.filter(days_shown, tz=chosen.zone)
        today = attrs.evolve(chosen, range="today").period(things.now(books.api))
        of_today = whole.filter(_last_day(today[1], chosen.zone), tz=chosen.zone)
        table, asked = whole.transactions(), shown_history.transactions()
        currency = whole.scope.currency or str(next(iter(codes.index), "usd"))
        seen = f'authorized_at>="{since:%Y-%m-%d %H:%M}" authorized_at<"{until:%Y-%m-%d %H:%M}"'
        declined, paid = f"{seen} status:declined", seen.replace("authorized_at", "posted_at")
        note = f"{int((asked['status'] == 'declined').sum()):,} of {len(asked):,} declined"
        note += f", today {_rate(of_today)}"
        spent = [money(int(part.spend()["net_cents"].sum()), currency) for part in (shown_history, of_today)]
        held = table["held_cents"][table["held_cents"] > 0]
        to = "transactions"
        tiles_html = [
            tile("Approval rate", _rate(shown_history), note, to, declined),
            tile("Net spend", spent[0], f"today {spent[1]}; refunds when they were made", to, paid),
            tile(
                "Open holds", money(int(held.sum()), currency), f"{len(held):,} authorized now", to, "status:authorized"
            ),
            *(
                tile(shown["label"], shown["figure"], f"now: {shown['note']}", shown["list"], shown["filter"])
                for shown in tiles(books.panel)
                if shown["label"] in _OF_PANEL
            ),
        ]
        yield "tiles", _tiles(tiles_html, tile("Points outstanding", "…", "being read", "rewards", ""))
        days = until - since
        by: Any = "day" if days <= timedelta(35) else "week" if days <= timedelta(190) else "month"
        approved = shown_history.approvals(freq=by)
        yield "approvals", card("Approvals", charts.approvals_chart(approved, size="compact"), to, seen)
        reasons = charts.declines_chart(asked, top=_TOP, size="compact")
        count = asked.loc[asked["status"] == "declined", "declined_reason"].nunique(dropna=False)
        yield "declines", card(_top("Declines by reason", count), reasons, to, declined)
        spend = shown_history.spend()
        count = len(spend)
        spent_on = charts.spend_chart(spend, top=_TOP, size="compact")
        yield "spend", card(_top("Spend by category", count), spent_on, to, paid)
        users = [user for user in books.users.values() if not chosen.program or program_of(user) == chosen.program]
        statuses = to_frame([{"application_status": user.get("application_status")} for user in users])
        reviews = charts.funnel_chart(statuses, size="compact")
        yield "reviews", card("Applications and reviews", reviews, "users", '"manual review"')
        if (sandbox := sandbox_of(books.api)) is None:
            yield "deliveries", '<h2>Deliveries</h2><p class="quiet">The service does not report its deliveries.</p>'
        else:
            sent = [
                delivery
                for delivery in sandbox.deliveries()
                if (at := delivery.attempts[-1].at if delivery.attempts else delivery.due) is not None
                and since <= at < until
            ]
            chart = charts.deliveries_chart(sent, top=_TOP, size="compact")
            yield "deliveries", card("Deliveries", chart, "deliveries", "")
        rewards = books.rewards
        if chosen.program:
            rewards = rewards[rewards["user_id"].isin(members)]
        owed = history(rewards[rewards["created_at"] < until]).filter(tz=chosen.zone).liability()
        figure = f"{owed['outstanding'].iloc[-1]:,.0f}" if len(owed) else "0"
        note = f"of {len(books.members):,} users, at the end of the range"
        yield "tiles", _tiles(tiles_html, tile("Points outstanding", figure, note, "rewards", ""))
        yield "points", card("Points outstanding", charts.liability_chart(owed, size="compact"), "rewards", "")


PARTS = ("approvals", "declines", "spend", "points", "reviews", "deliveries")
"""Positions of the charts, in page order."""
_ANSWERS: Mapping[str, Callable[[Dashboard, Mapping[str, Any]], None]] = {
    "show": Dashboard._show,
    "open": Dashboard._open,
    "export": Dashboard._export,
}


def _last_day(until: datetime, zone: str) -> str:
    """Return the last day before a moment, in a time zone."""
    return f"{(until - timedelta(seconds=1)).astimezone(ZoneInfo(zone)):%Y-%m-%d}"


def _rate(shown: History) -> str:
    totals = shown.approvals(freq=None)
    return f"{totals['rate'].iloc[0]:.1%}" if len(totals) else "–"


def _top(title: str, count: int) -> str:
    """Return the title of a chart, with the number of bars if some are omitted."""
    return f"{title}: top {_TOP} of {count:,}" if count > _TOP else title


def _place(name: str, text: str) -> str:
    return f'<section class="card" data-part="{name}"{"" if text else " aria-busy=true"}>{text}</section>'


def _select(label: str, name: str, options: Mapping[str, str | None], chosen: str) -> str:
    options_html = "".join(
        "<option "
        f'value="{escape(value)}"{" selected" if value == chosen else ""}>{escape(visible(text or value, 60))}</option>'
        for value, text in options.items()
    )
    return f'<label>{label}<select data-filter-name="{name}">{options_html}</select></label>'


def _tile(label: str, figure: str, note: str, to: str, text: str, *, live: bool) -> str:
    inside = (
        f'<span class="quiet">{escape(label)}</span><b>{escape(figure)}</b><span class="quiet">{escape(note)}</span>'
    )
    if not live:
        return f'<div class="tile">{inside}</div>'
    return f'<button type="button" class="tile" data-list="{escape(to)}" data-filter="{escape(text)}">{inside}</button>'


def _tiles(parts: list[str], last: str) -> str:
    return f'<div class="tiles">{"".join(parts)}{last}</div>'


def _card(title: str, axes: Any, to: str, text: str, *, live: bool) -> str:
    way = (
        f'<button type="button" data-list="{escape(to)}" data-filter="{escape(text)}" aria-label="{escape(title)}: '
        f'open {escape(to)}">Open {escape(to)}</button>'
    )
    return f"<h2>{escape(title)}</h2>{way if live else ''}{axes._repr_html_()}"
