"""The overview of a panel: tasks for people, and tiles and charts for a range of days, with filters."""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import datetime, timedelta
from functools import cached_property, partial
from itertools import pairwise
from math import inf
from typing import Any

import attrs

from workbench.base.errors import UsageError, WorkbenchError, not_allowed, visible
from workbench.client.session import sandbox_of
from workbench.screens.panel.cells import Message, Rows, milliseconds
from workbench.screens.panel.details import svg
from workbench.service import rendering
from workbench.service.rendering.text import sentence

_DAY = timedelta(days=1)
_BACK = {"today": 0, "week": 6, "quarter": 89, "year": 364}
"""Number of earlier days in a range that ends today."""
RANGES = (*_BACK, "month", "last", "custom")
"""Ranges of days: ranges that end today, this month, the last month, and chosen days."""
_TOP = 6  # maximum number of bars in a chart
_LINE = 30  # number of days in a tile's sparkline


@attrs.frozen(kw_only=True)
class Filters:
    """Filters of an overview: a range of days and a time zone."""

    range: str = "month"
    since: str = ""
    until: str = ""
    zone: str = "UTC"

    def days(self, now: datetime) -> tuple[str, str]:
        """Return the first and the last day of the range.

        Raises:
            UsageError: The range or the time zone is invalid.
        """
        from workbench.analysis.tables.periods import zone

        if self.range not in RANGES:
            raise UsageError([not_allowed("range", self.range, RANGES)], of="browse")
        today = now.astimezone(zone(self.zone)).date()
        last = today.replace(day=1) - _DAY if self.range == "last" else today
        first = today - _BACK[self.range] * _DAY if self.range in _BACK else last.replace(day=1)
        since, until = (self.since, self.until) if self.range == "custom" else ("", "")
        return since or str(first), until or str(last)


@attrs.frozen(kw_only=True)
class Tile:
    """A value on the overview, with the list and filter that it opens, and the column that explains it.

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
    """Data of an overview: a session's transactions in their most frequent currency, and a range of days.

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
        """Set the range, the preceding range with the same number of days, and the last thirty days of the range.

        Raises:
            UsageError: A filter is invalid, or the range ends before it starts.
        """
        from workbench.analysis.tables.periods import bounds, period_before, zone

        days = filters.days(now)
        _, start, end = bounds(days, filters.zone)
        before, since, until = map(milliseconds, (period_before(days, filters.zone), start, end))
        self.filters, self.now, self.days, self.start, self.end = filters, now, days, start, end
        self.range, self.before = (since, until), (before, since)
        midnight = end.astimezone(zone(filters.zone))
        self.line = [*pairwise(milliseconds(midnight - back * _DAY) for back in reversed(range(_LINE + 1)))]

    @cached_property
    def amounts(self) -> Any:
        """Return the amounts of the transactions, as `money_of` returns them."""
        from workbench.screens.panel.money import money_of

        return money_of(self.api, self.lists("transactions"), self.currency, self.now)

    def within(self, name: str, span: tuple[float, float] | None = None) -> Any:
        """Return the amounts in the range or in another range."""
        first, last, cents = self.amounts[name]
        since, end = span or self.range
        return cents[(first >= since) & (last < end)]

    @cached_property
    def _history(self) -> Any:
        from workbench.analysis.reports.history import history

        return history(self.api)

    @property
    def shown(self) -> Any:
        """Return the history in the range, for charts and the caller's tiles."""
        currency = self.currency if self._is_mixed else None
        return self._history.filter(self.days, tz=self.filters.zone, currency=currency)

    def filter(self, column: str) -> str:
        """Return the filter that limits a list's time column to the range."""
        return f'{column}>="{self.start:%Y-%m-%d %H:%M}" {column}<"{self.end:%Y-%m-%d %H:%M}"'

    def money(self, tile: Tile, cents: Any, of: Callable[[tuple[float, float]], Any]) -> Tile:
        """Return a tile for amounts, with its last thirty days and its change from the previous period.

        Args:
            of: Function that returns the amounts of a range.
        """
        total, before = int(cents.sum()), int(of(self.before).sum())
        return attrs.evolve(
            tile,
            figure=rendering.money(total, self.currency),
            line=[int(of(day).sum()) for day in self.line],
            list="transactions",
            change=f"{(total - before) / abs(before):+.1%} from the period before" if before else "",
        )


def net_spend(scope: Scope) -> Tile:
    """Settlements less refunds. A refund counts in the period of the refund, not of the purchase."""
    net, note = partial(scope.within, "net"), "settlements less refunds"
    cents, possible = net(), scope.within("possible")
    if count := len(possible) - len(cents):
        left = rendering.money(int(possible.sum() - cents.sum()), scope.currency)
        note += f"; without {count:,} changes of unknown time ({left})"
    return scope.money(Tile(label="Net spend", note=note, filter=scope.filter("posted_at")), cents, net)


def approval_rate(scope: Scope) -> Tile:
    """Share of authorizations that were not declined."""
    text = f"{scope.filter('authorized_at')} status:declined"
    tile = Tile(label="Approval rate", list="transactions", filter=text)
    asked, before = scope.within("asked"), scope.within("asked", scope.before)
    if not len(asked):
        return attrs.evolve(tile, note="no purchase in this range: press Transactions to simulate one")
    rate, change = (asked > 0).mean(), ""
    if len(before):
        change = f"{100 * (rate - (before > 0).mean()):+.1f} points from the period before"
    note = f"{(asked < 0).sum():,} of {len(asked):,} declined"
    return attrs.evolve(tile, figure=f"{rate:.1%}", note=note, change=change)


def open_holds(scope: Scope) -> Tile:
    """Authorized amounts that are currently neither settled nor reversed."""
    *_, held = scope.amounts["held"]
    tile = Tile(label="Open holds", note=f"now: {len(held):,} authorized", filter="held>0", column="held_cents")
    return scope.money(tile, held, lambda span: scope.within("holds", (-inf, span[1])))


def posted(scope: Scope) -> Tile:
    """Purchases settled in the range, before refunds."""
    of = partial(scope.within, "posted")
    cents = of()
    note = f"{len(cents):,} transactions, before refunds"
    tile = Tile(label="Posted", note=note, filter=scope.filter("posted_at"), column="posted_cents")
    return scope.money(tile, cents, of)


def collateral(scope: Scope, column: str = "value_cents", label: str = "Collateral") -> Tile:
    """Value of the tokens in the contracts."""
    try:
        cents = [value for value in scope.lists("contracts").column(column) if value is not None]
    except WorkbenchError as error:
        return Tile(label=label, note=rendering.plain(error).splitlines()[0][:120], list="contracts")
    note = f"now: {len(cents):,} tokens of contracts" if column == "value_cents" else "now: at the advance rates"
    return Tile(label=label, figure=rendering.money(sum(cents)), note=note, list="contracts")


def credit_capacity(scope: Scope) -> Tile:
    """Spending that the collateral backs at the advance rates."""
    return collateral(scope, "credit_cents", "Credit capacity")


def points_outstanding(scope: Scope) -> Tile:
    """Points of the users whose rewards were read."""
    label, frame = "Points outstanding", scope.lists("rewards").frame
    if frame is None:
        return Tile(label=label, note="press to read rewards", list="rewards")
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
            label, note = getattr(each, "__name__", "tile"), (each.__doc__ or "").partition("\n")[0]
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
    if not all(callable(each) or each in TILES for each in chosen):
        raise UsageError(f"the tiles are {', '.join(TILES)}, or functions of a history", of="browse")
    return chosen


def attention(lists: Callable[[str], Rows]) -> Iterator[Message]:
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
        ("users", "application_status", "manualReview", "{:,} application{} for a review"),
        ("disputes", "status", "inReview", "{:,} dispute{} for a decision"),
    )
    for name, column, status, text in counted:
        if count := list(lists(name).column(column)).count(status):
            text = text.format(count, " waits" if count == 1 else "s wait")
            yield {"text": text, "note": "", "list": name, "filter": f"{column}={status}"}


def charts(scope: Scope) -> Iterator[Message]:
    """Yield the charts below the tiles, each as an element with the list and filter that it opens."""
    from workbench.analysis import charts as draw
    from workbench.analysis.reports.history import history
    from workbench.analysis.tables.frames import to_frame

    seen, paid = scope.filter("authorized_at"), scope.filter("posted_at")
    shown, days = scope.shown, (scope.end - scope.start).days
    by = "day" if days <= 36 else "week" if days <= 191 else "month"

    def chart(title: str, axes: Any, to: str, text: str = "") -> Message:
        return {"title": title, "list": to, "filter": text, "chart": svg(axes._repr_html_())}

    def top(title: str, count: int) -> str:
        return f"{title}: top {_TOP} of {count:,}" if count > _TOP else title

    yield chart(
        "Approved, per cent", draw.approvals_chart(shown.approvals(freq=by), size="compact"), "transactions", seen
    )
    asked = shown.transactions()
    reasons = draw.declines_chart(asked, top=_TOP, size="compact")
    yield chart(top("Declines by reason", len(shown.declines())), reasons, "transactions", f"{seen} status:declined")
    spend = shown.spend()
    spent = draw.spend_chart(spend, top=_TOP, size="compact")
    yield chart(top("Spend by category", len(spend)), spent, "transactions", paid)
    statuses = scope.lists("users").column("application_status")
    reviews = to_frame([{"application_status": status} for status in statuses])
    yield chart("Applications and reviews", draw.funnel_chart(reviews, size="compact"), "users", '"manual review"')
    if sandbox_of(scope.api) is not None:
        data = scope.lists("deliveries")
        since, end = scope.range
        known = [data.thing(number) for number, at in enumerate(data.column("at")) if at and since <= at < end]
        sent = [*filter(None, known)]
        yield chart("Deliveries", draw.deliveries_chart(sent, top=_TOP, size="compact"), "deliveries")
    rewards = scope.lists("rewards").frame
    if rewards is not None:
        owed = history(rewards[rewards["created_at"] < scope.end]).filter(tz=scope.filters.zone).liability()
        yield chart("Points outstanding", draw.liability_chart(owed, size="compact"), "rewards")
