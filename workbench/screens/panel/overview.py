"""The overview of a panel: tasks for people, tiles and charts from one history in a range, and their filters."""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import UTC, date, datetime, time, timedelta
from functools import cache, cached_property
from typing import TYPE_CHECKING, Any
from zoneinfo import ZoneInfo, available_timezones

import attrs

from workbench.base.errors import UsageError, WorkbenchError, visible
from workbench.base.schema.rules import iso_day
from workbench.client.session import sandbox_of
from workbench.screens.panel.cells import Rows, milliseconds
from workbench.screens.panel.details import svg
from workbench.service import rendering
from workbench.service.rendering.text import sentence

if TYPE_CHECKING:
    from workbench.screens.panel.money import Money

_DAY = timedelta(days=1)
_BACK = {"today": 0, "week": 6, "quarter": 89, "year": 364}
"""Number of earlier days in a range that ends today."""
RANGES = (*_BACK, "month", "last", "custom")
"""Ranges of days: ranges that end today, this month, the last month, and chosen days."""
_zones = cache(available_timezones)
_TOP = 6  # maximum number of bars in a chart
_LINE = 30  # number of days in the small line of a tile


@attrs.frozen(kw_only=True)
class Filters:
    """Filters of an overview, which are a range of days and a time zone."""

    range: str = "month"
    since: str = ""
    until: str = ""
    zone: str = "UTC"

    def days(self, now: datetime) -> tuple[date, date]:
        """Return the first and the last day of the range.

        Raises:
            UsageError: The range, time zone or a date is invalid, or the range ends before it starts.
        """
        if self.range not in RANGES:
            raise UsageError(f"the ranges are {', '.join(RANGES)}", of="browse")
        if self.zone not in _zones():
            raise UsageError(f"{visible(self.zone, 60)} is not a time zone (such as Europe/Paris)", of="browse")
        for text in filter(None, (self.since, self.until)):
            if iso_day(text) is None:
                raise UsageError(f"{visible(text, 20)} is not a date (such as 2026-01-31)", of="browse")
        today = now.astimezone(ZoneInfo(self.zone)).date()
        month = today.replace(day=1)
        if self.range == "custom":
            first, last = iso_day(self.since) or month, iso_day(self.until) or today
        elif self.range == "last":
            last = month - timedelta(days=1)
            first = last.replace(day=1)
        else:
            first, last = today - timedelta(days=_BACK.get(self.range, today.day - 1)), today
        if last < first:
            raise UsageError("the range ends before it starts", of="browse")
        return first, last

    def start(self, day: date) -> datetime:
        """Return the beginning of a day in the time zone."""
        return datetime.combine(day, time(), ZoneInfo(self.zone)).astimezone(UTC)


@attrs.frozen(kw_only=True)
class Tile:
    """A figure of the overview, with the list and filter to which it leads, and the column that explains it.

    `line` has the values for the last thirty days, and `change` is the change from the previous period.
    """

    label: str
    figure: str = "–"
    note: str = ""
    line: Sequence[float] = attrs.field(factory=list)
    list: str = ""
    filter: str = ""
    column: str = ""
    change: str = ""


class Scope:
    """Data of an overview, which are a session's transactions in their most frequent currency, and a range of days.

    Args:
        api: A client or a session.
        lists: Function that returns the rows of one of the panel's lists.
    """

    def __init__(self, api: Any, lists: Callable[[str], Rows]) -> None:
        self.api, self.lists = api, lists
        codes = Counter(filter(None, lists("transactions").column("currency"))).most_common()
        self.currency: str = codes[0][0] if codes else "usd"
        self._is_mixed = len(codes) > 1

    def show(self, filters: Filters, now: datetime) -> None:
        """Set the range, and the preceding range with the same number of days.

        Raises:
            UsageError: A filter is invalid.
        """
        self.first, self.last = filters.days(now)
        self.filters, self.now = filters, now
        self.start, self.end = filters.start(self.first), filters.start(self.last + _DAY)
        length = self.last - self.first + _DAY
        self.range, self.before = self.span(self.first, self.last), self.span(self.first - length, self.last - length)

    @cached_property
    def part(self) -> "Money":
        """Return the money of the transactions."""
        from workbench.screens.panel.money import Money

        return Money(self.api, self.lists("transactions"), self.currency, self.now)

    @cached_property
    def _history(self) -> Any:
        from workbench.analysis.reports.history import history

        return history(self.api)

    @property
    def shown(self) -> Any:
        """Return the history in the range, for charts and the caller's tiles."""
        currency = self.currency if self._is_mixed else None
        return self._history.filter((str(self.first), str(self.last)), tz=self.filters.zone, currency=currency)

    def span(self, first: date, last: date) -> tuple[int, int]:
        """Return the start of one day and the end of another day, in milliseconds."""
        return milliseconds(self.filters.start(first)), milliseconds(self.filters.start(last + _DAY))

    def within(self, column: str) -> str:
        """Return the filter that limits a list's time column to the range."""
        return f'{column}>="{self.start:%Y-%m-%d %H:%M}" {column}<"{self.end:%Y-%m-%d %H:%M}"'

    def money(self, tile: Tile, cents: int, before: int, line: Callable[[int, int], float]) -> Tile:
        """Return a tile for an amount, with its last thirty days and its change from the previous period.

        Args:
            line: Function that returns the amount of a day, from the day's start and end.
        """
        days = [self.last - timedelta(days=back) for back in reversed(range(_LINE))]
        return attrs.evolve(
            tile,
            figure=rendering.money(cents, self.currency),
            line=[line(*self.span(day, day)) for day in days],
            list="transactions",
            change=f"{(cents - before) / abs(before):+.1%} on the period before" if before else "",
        )


def net_spend(scope: Scope) -> Tile:
    """Settlements less refunds, each counted in the period in which it was made."""
    net, note = scope.part.net, "settlements less refunds"
    cents, count = scope.part.unplaced(*scope.range)
    if count:
        note += f"; without {count:,} of unknown time, {rendering.money(cents, scope.currency)}"
    tile = Tile(label="Net spend", note=note, filter=scope.within("posted_at"))
    return scope.money(tile, net(*scope.range), net(*scope.before), net)


def approval_rate(scope: Scope) -> Tile:
    """Share of authorizations that were not declined."""
    (asked, declined), (asked_before, declined_before) = scope.part.asked(*scope.range), scope.part.asked(*scope.before)
    rate, change = 1 - declined / max(asked, 1), ""
    if asked and asked_before:
        change = f"{100 * (rate - 1 + declined_before / asked_before):+.1f} points on the period before"
    return Tile(
        label="Approval rate",
        figure=f"{rate:.1%}" if asked else "–",
        note=f"{declined:,} of {asked:,} declined"
        if asked
        else "no purchase in this range: press Transactions to simulate one",
        list="transactions",
        filter=f"{scope.within('authorized_at')} status:declined",
        change=change,
    )


def open_holds(scope: Scope) -> Tile:
    """Authorized amounts that are currently neither settled nor reversed."""
    held_before = scope.part.held_before
    cents, count = scope.part.held()
    tile = Tile(label="Open holds", note=f"now: {count:,} authorized", filter="held>0", column="held_cents")
    return scope.money(tile, cents, held_before(scope.range[0]), lambda _, end: held_before(end))


def posted(scope: Scope) -> Tile:
    """Purchases settled in the range, before refunds."""
    part = scope.part
    cents, count = part.posted(*scope.range)
    note = f"{count:,} transactions, before refunds"
    tile = Tile(label="Posted", note=note, filter=scope.within("posted_at"), column="posted_cents")
    return scope.money(tile, cents, part.posted(*scope.before)[0], lambda since, end: part.posted(since, end)[0])


def collateral(scope: Scope, column: str = "value_cents") -> Tile:
    """Value of the tokens in the contracts."""
    label = "Collateral" if column == "value_cents" else "Credit capacity"
    try:
        cents = [value for value in scope.lists("contracts").column(column) if value is not None]
    except WorkbenchError as error:
        return Tile(label=label, figure="–", note=rendering.plain(error).splitlines()[0][:120], list="contracts")
    note = f"now: {len(cents):,} tokens of contracts" if column == "value_cents" else "now: at the advance rates"
    return Tile(label=label, figure=rendering.money(sum(cents)), note=note, list="contracts")


def credit_capacity(scope: Scope) -> Tile:
    """Spending that the collateral backs at the advance rates."""
    return collateral(scope, "credit_cents")


def points_outstanding(scope: Scope) -> Tile:
    """Points of the users whose rewards were read."""
    label, frame = "Points outstanding", scope.lists("rewards").frame
    if frame is None:
        return Tile(label=label, figure="–", note="press to read rewards", list="rewards")
    from workbench.analysis.reports.history import history

    points, count = history(frame).points()["outstanding"].sum(), frame["user_id"].nunique()
    return Tile(
        label=label, figure=f"{points:,.0f}", note=f"of {count:,} user{'' if count == 1 else 's'} read", list="rewards"
    )


TILES: Mapping[str, Callable[[Scope], Tile]] = {
    each.__name__: each
    for each in (net_spend, approval_rate, open_holds, posted, collateral, credit_capacity, points_outstanding)
}
"""Tiles by name, in the order shown."""


def tiles(scope: Scope, chosen: Iterable[Any]) -> Iterator[Tile]:
    """Yield tiles by name. A caller's function receives the history in the range and returns the tile's value."""
    for each in chosen:
        if callable(each):
            label, note = getattr(each, "__name__", "tile"), (getattr(each, "__doc__", None) or "").partition("\n")[0]
            figure = visible(str(each(scope.shown)), 80)
            yield Tile(label=sentence(rendering.label(label)), figure=figure, note=visible(note, 120))
        else:
            yield TILES[each](scope)


def check_tiles(chosen: Iterable[Any]) -> tuple[Any, ...]:
    """Return the tiles to show, and check that they exist.

    Raises:
        UsageError: A name is unknown.
    """
    chosen = tuple(chosen)
    for each in chosen:
        if not callable(each) and each not in TILES:
            raise UsageError(f"the tiles are {', '.join(TILES)}, or functions of a history", of="browse")
    return chosen


def attention(lists: Callable[[str], Rows]) -> Iterator[dict[str, str]]:
    """Yield the tasks for people, most urgent first. Each is a sentence, with the list and filter of its records."""
    health = lists("health")
    for what, count, fix in zip(*map(health.column, ("what", "count", "fix")), strict=True):
        times = f", {count:,} times" if count and count > 1 else ""
        yield {
            "text": f"{visible(str(what), 160).rstrip('.')}{times}",
            "note": visible(str(fix), 160),
            "list": "health",
            "filter": "",
        }
    counted = (
        ("users", "application_status", "manualReview", "application waits", "applications wait", "for a review"),
        ("disputes", "status", "inReview", "dispute waits", "disputes wait", "for a decision"),
    )
    for name, column, status, one, several, what in counted:
        if count := list(lists(name).column(column)).count(status):
            text = f"{count:,} {one if count == 1 else several} {what}"
            yield {"text": text, "note": "", "list": name, "filter": f"{column}={status}"}


def charts(scope: Scope) -> Iterator[dict[str, Any]]:
    """Yield the charts below the tiles, each as an element with the list and filter to which it leads."""
    from workbench.analysis import charts as draw
    from workbench.analysis.reports.history import history
    from workbench.analysis.tables.frames import to_frame

    seen, paid = scope.within("authorized_at"), scope.within("posted_at")
    shown, days = scope.shown, (scope.last - scope.first).days
    by = "day" if days <= 35 else "week" if days <= 190 else "month"

    def chart(title: str, axes: Any, to: str, text: str = "") -> dict[str, Any]:
        return {"title": title, "list": to, "filter": text, "chart": svg(axes._repr_html_())}

    def top(title: str, count: int) -> str:
        return f"{title}: top {_TOP} of {count:,}" if count > _TOP else title

    yield chart(
        "Approved, per cent", draw.approvals_chart(shown.approvals(freq=by), size="compact"), "transactions", seen
    )
    asked = shown.transactions()
    count = asked.loc[asked["status"] == "declined", "declined_reason"].nunique(dropna=False)
    reasons = draw.declines_chart(asked, top=_TOP, size="compact")
    yield chart(top("Declines by reason", count), reasons, "transactions", f"{seen} status:declined")
    spend = shown.spend()
    spent = draw.spend_chart(spend, top=_TOP, size="compact")
    yield chart(top("Spend by category", len(spend)), spent, "transactions", paid)
    statuses = scope.lists("users").column("application_status")
    reviews = to_frame([{"application_status": status} for status in statuses])
    yield chart("Applications and reviews", draw.funnel_chart(reviews, size="compact"), "users", '"manual review"')
    if sandbox_of(scope.api) is not None:
        data = scope.lists("deliveries")
        known = zip(data.things, data.column("at"), strict=True)
        sent = [delivery for delivery, at in known if delivery and at and scope.start <= at < scope.end]
        yield chart("Deliveries", draw.deliveries_chart(sent, top=_TOP, size="compact"), "deliveries")
    rewards = scope.lists("rewards").frame
    if rewards is not None:
        owed = history(rewards[rewards["created_at"] < scope.end]).filter(tz=scope.filters.zone).liability()
        yield chart("Points outstanding", draw.liability_chart(owed, size="compact"), "rewards")
