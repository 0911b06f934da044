"""Raw deliveries of card transactions, and tables that plain SQL builds from the deliveries without the workbench."""

import json
import sqlite3
from collections.abc import Iterable, Iterator
from datetime import UTC, date, datetime, timedelta
from typing import Any
from zoneinfo import ZoneInfo

import workbench as wb

MONTHS = {"JAN": 1, "JUN": 6, "DEC": 12}
PAST, BEGIN = datetime(2026, 3, 17, 9, 30, tzinfo=UTC), datetime(2026, 2, 5, 13, tzinfo=UTC)
"""The past moment of reports, and the first moment of a partial log."""


def play(api: Any, seed: int) -> list[dict[str, Any]]:
    """Return the deliveries of a hundred days, as a receiver stores them, with some repeated at the end."""
    traffic = wb.sequences.traffic(seed=seed, cards=4, days=100, a_day=1.1)
    wb.sequences.run(api, traffic, progress=False)
    for transaction in _settled(api)[:12]:  # refund these in later months
        api.sandbox.advance(hours=7)
        left = transaction["settled"] - transaction["refunded"]
        api.simulate_refund(transaction_id=transaction["id"], amount=max(left // 3, 1))
    # release a part of these holds at the end
    for transaction in [r for r in api.sandbox.records("transaction") if r["held"] > 100][:4]:
        api.simulate_reversal(transaction_id=transaction["id"], new_amount=transaction["held"] // 2)
    rows = [{"at": event.at.isoformat(), "event": event.payload} for event in api.sandbox.events()]
    rows = [row for row in rows if row["event"]["resource"] == "transaction"]
    return rows + rows[5:40:7]


def _settled(api: Any) -> list[dict[str, Any]]:
    records = api.sandbox.records("transaction")
    return [r for r in records if r["status"] == "settled" and r["settled"] > r["refunded"]]


def with_currencies(rows: Iterable[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return deliveries with some transactions in EUR and JPY."""
    changed = []
    for row in json.loads(json.dumps([*rows])):
        spend = row["event"]["body"]["spend"]
        spend["currency"] = {0: "eur", 1: "EUR", 2: "jpy"}.get(int(row["event"]["body"]["id"][:4], 16) % 9, "usd")
        spend["localCurrency"] = "jpy" if spend["currency"] == "jpy" else "eur"
        changed.append(row)
    return changed


NULLABLE = (
    "currency",
    "merchantName",
    "merchantCategory",
    "merchantCategoryCode",
    "cardId",
    "userId",
    "localAmount",
    "localCurrency",
)


def with_gaps(rows: Iterable[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return deliveries without each optional member, in one transaction of each of two months."""
    changed = json.loads(json.dumps([*rows]))
    settled = [row for row in changed if row["event"]["action"] == "completed"]
    missing: dict[str, str] = {}
    for month in ("2026-02", "2026-03"):
        ids = dict.fromkeys(row["event"]["body"]["id"] for row in settled if row["at"].startswith(month))
        missing |= dict(zip([id_ for id_ in ids if id_ not in missing], NULLABLE, strict=False))
    for row in changed:
        row["event"]["body"]["spend"].pop(missing.get(row["event"]["body"]["id"]), None)
    return list(changed)


def milliseconds(text: str | None) -> int | None:
    return None if text is None else round(datetime.fromisoformat(text).timestamp() * 1000)


def first_day(moment: int | None, freq: str, tz: str) -> str | None:
    """Return the first day of the period that contains a time, as ISO text; None without a time."""
    if moment is None:
        return None
    day = datetime.fromtimestamp(moment / 1000, ZoneInfo(tz)).date()
    if freq == "week":
        return (day - timedelta(days=day.weekday())).isoformat()
    if freq == "day":
        return day.isoformat()
    months = {"month": 1, "quarter": 3, "year": 12, "Q": 3, "Y": 12}[freq.partition("-")[0]]
    # month in which the year ends, such as 1 for "Q-JAN"; 0 for December
    after = MONTHS[freq.partition("-")[2] or "DEC"] % 12
    count = day.year * 12 + day.month - 1 - after
    count -= count % months
    return date((count + after) // 12, (count + after) % 12 + 1, 1).isoformat()


def is_running(first: str, freq: str, tz: str, until: int) -> bool:
    """Return whether the period that begins on a day was not yet over at a time."""
    return first_day(until, freq, tz) == first  # the period of `until` is the running one


def database(rows: Iterable[dict[str, Any]], until: datetime | None = None) -> sqlite3.Connection:
    """Return a database with tables of the events `e`, transactions `t` and postings `p` of deliveries before a time."""
    engine = sqlite3.connect(":memory:")
    engine.create_function("first_day", 3, first_day, deterministic=True)
    engine.execute(
        "create table e (n integer primary key, id text unique on conflict ignore, kind, tx, at, amount, change, "
        "limit_, status, reason, authorized_at, posted_at, currency, merchant_name, merchant_category, merchant_category_code, "
        "card_id, user_id, local_amount, local_currency)"
    )
    engine.executemany(f"insert into e values (null, {', '.join('?' * 19)})", _values(rows, until))
    engine.executescript(TABLES)
    return engine


def _values(rows: Iterable[dict[str, Any]], until: datetime | None) -> Iterator[tuple[Any, ...]]:
    for row in rows:
        event, at = row["event"], milliseconds(row["at"])
        if until is not None and at is not None and at >= until.timestamp() * 1000:
            continue
        spend = event["body"]["spend"]
        names = ("amount", "authorizationUpdateAmount", "authorizedAmount", "status", "declinedReason")
        parties = ("merchantName", "merchantCategory", "merchantCategoryCode", "cardId", "userId")
        times = [milliseconds(spend.get(name)) for name in ("authorizedAt", "postedAt")]
        yield (
            *(event["id"], event["action"], event["body"]["id"], at, *map(spend.get, names), *times),
            *(
                (spend.get("currency") or "").lower() or None,
                *map(spend.get, parties),
                spend.get("localAmount"),
                spend.get("localCurrency"),
            ),
        )


TABLES = """
create table t as
select f.tx transaction_id, f.card_id, f.user_id, f.merchant_name, f.merchant_category, f.merchant_category_code,
  f.currency, s.reason, f.authorized_at, s.posted_at, s.refunded_at, f.local_amount, f.local_currency,
  case when s.begun then max(coalesce(f.limit_, f.amount) - coalesce(f.change, 0) + s.raised, 0) end authorized_cents,
  case when not s.begun and not s.completed then null when not s.declined and not s.completed and s.opened
    then max(coalesce(f.limit_, f.amount) - coalesce(f.change, 0) + s.changed, 0) else 0 end held_cents,
  s.posted posted_cents, s.refunded refunded_cents, s.posted - s.refunded net_cents,
  case when s.declined then 'declined'
    when s.completed and s.refunded >= s.posted and s.refunded > 0 then 'refunded'
    when s.completed then 'settled'
    when s.updated and coalesce(f.limit_, f.amount) - coalesce(f.change, 0) + s.changed <= 0 then 'reversed'
    when s.opened then 'authorized' else 'requested' end status
from (select *, row_number() over (partition by tx order by
        case kind when 'created' then 0 when 'requested' then 1 else 2 end, n) place from e) f
join (select tx, max(kind in ('created', 'requested')) begun, max(kind in ('created', 'updated')) opened,
        max(kind = 'completed') completed, max(kind = 'updated') updated,
        max(coalesce(status, '') = 'declined') declined,
        max(reason) reason, max(case when kind = 'completed' and amount > 0 then posted_at end) posted_at,
        max(case when kind = 'completed' and amount < 0 then at end) refunded_at,
        sum(case when kind = 'updated' then max(coalesce(change, 0), 0) else 0 end) raised,
        sum(case when kind = 'updated' then coalesce(change, 0) else 0 end) changed,
        sum(case when kind = 'completed' then max(amount, 0) else 0 end) posted,
        sum(case when kind = 'completed' then -min(amount, 0) else 0 end) refunded
      from e group by tx) s on s.tx = f.tx
where f.place = 1;

create table p as
with held as (select tx, sum(case when kind = 'created' then amount else coalesce(change, 0) end) cents,
    max(kind = 'created') known from e
    where kind in ('created', 'updated') and coalesce(status, '') <> 'declined' group by tx)
select tx transaction_id, 'hold' posting, authorized_at at, amount held, 0 posted, 0 refunded, * from e
  where kind = 'created' and status <> 'declined' and amount > 0
union all select e.tx, case when change > 0 then 'increase' else 'release' end, at,
    case when known then change end, 0, 0, e.* from e join held on held.tx = e.tx where kind = 'updated' and change <> 0
union all select e.tx, 'settlement', posted_at, case when known then -min(amount, cents) end, amount, 0, e.* from e
  left join held on held.tx = e.tx where kind = 'completed' and amount > 0
union all select e.tx, 'release', posted_at, amount - cents, 0, 0, e.* from e
  join held on held.tx = e.tx where kind = 'completed' and amount > 0 and known and cents > amount
union all select tx, 'refund', at, 0, 0, -amount, * from e where kind = 'completed' and amount < 0;
"""
