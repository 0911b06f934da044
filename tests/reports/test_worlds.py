"""A program's numbers make a twin: the distributions are those of the source, and nothing of the source is in file or world."""

import json
import random
import re
from collections import Counter
from collections.abc import Callable, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import workbench as wb
from tests.sandbox import facts
from workbench.analysis.reports.worlds import ProgramNumbers
from workbench.base.errors import UsageError
from workbench.sandbox import Sandbox
from workbench.terminal import main

NOW = datetime(2026, 1, 15, 15, tzinfo=UTC)
USERS = 1_200
_TICKETS: dict[str, Callable[[random.Random], float]] = {
    "5411": lambda dice: dice.gammavariate(2, 2_400),
    "5814": lambda dice: 999 if dice.random() < 0.4 else dice.uniform(400, 3_000),
    "4511": lambda dice: dice.choice((9_000, 45_000)) * dice.uniform(0.8, 1.3),
    "5912": lambda dice: dice.lognormvariate(7.5, 0.5),
    "8999": lambda dice: 1_000 + 50_000 * dice.random() ** 6,
}
_SHARES = (0.42, 0.3, 0.05, 0.2, 0.03)


def made_up(seed: int = 3) -> pd.DataFrame:
    """Return transactions of a program that is made in another way than the seeded worlds."""
    dice = random.Random(seed)
    rows = []
    for user in range(USERS):
        joined = NOW - timedelta(days=dice.triangular(5, 320, 40))
        leaves = dice.random() < 0.3
        end = joined + (NOW - joined) * dice.betavariate(1.2, 1.2) if leaves else NOW
        for _ in range(1 + min(int(dice.expovariate(1 / 9)), 80)):
            at = joined + (end - joined) * dice.random()
            while dice.random() < (0.6 if at.weekday() >= 5 else 0.0):
                at = joined + (end - joined) * dice.random()
            at = min(at.replace(hour=min(23, max(0, int(dice.gauss(14, 4.5))))), NOW)
            rows.append(_purchase(dice, len(rows), user, at))
    return pd.DataFrame(rows)


def _purchase(dice: random.Random, number: int, user: int, at: datetime) -> dict[str, object]:
    (code,) = dice.choices(list(_TICKETS), _SHARES)
    cents, luck = max(1, int(_TICKETS[code](dice))), dice.random()
    posted = at + timedelta(hours=12 + 60 * dice.random() ** 2)
    status = "declined" if luck < 0.08 else "reversed" if luck < 0.11 else "settled" if posted < NOW else "authorized"
    is_settled = status == "settled"
    refund = int(cents * dice.choice((1, 1, dice.random()))) if is_settled and dice.random() < 0.09 else 0
    reason = dice.choices(("account_credit_limit_exceeded", "cvv_mismatch", "card_locked"), (6, 3, 1))[0]
    return {
        "transaction_id": f"00000000-0000-4000-8000-{number:012d}",
        "user_id": f"source-user-{user}",
        "merchant_name": f"Secret Shop {int(400 * dice.random() ** 2)}",
        "merchant_category": {"8999": "Professional Services"}.get(code, "Known"),
        "merchant_category_code": code,
        "currency": "usd",
        "status": status,
        "declined_reason": reason if status == "declined" else None,
        "authorized_cents": cents,
        "posted_cents": cents if is_settled else 0,
        "refunded_cents": refund,
        "authorized_at": pd.Timestamp(at),
        "posted_at": pd.Timestamp(posted) if is_settled else pd.NaT,
        "refunded_at": pd.Timestamp(posted) + pd.Timedelta(days=3 * dice.random()) if refund else pd.NaT,
    }


def ks_distance(left: Sequence[float], right: Sequence[float]) -> float:
    """Return the Kolmogorov–Smirnov distance: the largest difference between two distribution functions."""
    values = np.concatenate([left, right])
    below = [np.searchsorted(np.sort(sample), values, side="right") / len(sample) for sample in (left, right)]
    return float(np.abs(below[0] - below[1]).max())


def distributions(frame: pd.DataFrame) -> dict[str, Any]:
    """Return the samples that are compared."""
    settled = frame[frame["posted_cents"] > 0]
    refunded = settled[settled["refunded_cents"] > 0]
    users = frame.groupby("user_id")["authorized_at"].agg(["min", "size"])
    now, day = pd.Timestamp(NOW), pd.Timedelta(days=1)
    reasons = frame["declined_reason"].dropna()
    values = {
        "amount": frame["authorized_cents"],
        "merchant category": frame["merchant_category_code"].astype(int),
        "purchases of a user": users["size"],
        "days since a user joined": (now - users["min"]) / day,
        "age of a purchase": (now - frame["authorized_at"]) / day,
        "hour of the day": frame["authorized_at"].dt.hour,
        "weekday": frame["authorized_at"].dt.day_of_week,
        "hours to the settlement": (settled["posted_at"] - settled["authorized_at"]) / day,
        "refunded share": refunded["refunded_cents"] / refunded["posted_cents"],
        "reason of a decline": reasons.str.replace(" ", "_").map(sorted({*reasons.str.replace(" ", "_")}).index),
    }
    return {name: sample.to_numpy(dtype=float) for name, sample in values.items()}


@pytest.fixture(scope="module")
def source() -> pd.DataFrame:
    return made_up()


@pytest.fixture(scope="module")
def file(source, tmp_path_factory) -> Path:
    path = tmp_path_factory.mktemp("world") / "program.toml"
    wb.world_from(source).save(path)
    return path


@pytest.fixture(scope="module")
def twin(file) -> Sandbox:
    return Sandbox(world=file, seed=11)


def members(sandbox: Sandbox) -> pd.DataFrame:
    """Return the transactions of the program, without those of the small world."""
    frame = wb.history(sandbox.records("transaction")).transactions()
    theirs = {user["id"] for user in sandbox.records("user") if user["last_name"] == "Example"}
    return frame[frame["user_id"].isin(theirs)]


@pytest.mark.slow
def test_the_distributions_are_those_of_the_source(source, twin):
    """At most 0.05 apart; another sample of the same source is about as far."""
    mine, theirs = distributions(source), distributions(members(twin))
    far = {name: round(ks_distance(mine[name], theirs[name]), 3) for name in mine}

    assert {name: distance for name, distance in far.items() if distance > 0.05} == {}
    for name in ("declined", "reversed"):
        share = [(frame["status"] == name).mean() for frame in (source, members(twin))]
        assert share[0] == pytest.approx(share[1], abs=0.01)


def test_the_distance_tells_programs_apart(source, tmp_path):
    """The measure itself: 0 for the same sample, large for another program."""
    (tmp_path / "other.toml").write_text("size = 60\n")
    mine, other = distributions(source), distributions(members(Sandbox(world=tmp_path / "other.toml")))

    assert ks_distance(mine["amount"], mine["amount"]) == 0
    assert ks_distance([1, 2, 3, 4], [3, 4, 5, 6]) == 0.5
    assert sum(ks_distance(mine[name], other[name]) > 0.05 for name in mine) >= 8


def test_nothing_of_the_source_is_in_file_or_world(source, file, twin):
    """No id, no name of a merchant, no amount at its time; and no time at all in the file."""
    text = file.read_text()
    held = json.dumps([twin.records(kind) for kind in ("transaction", "user", "card", "dispute")], default=str)
    pairs = set(zip(source["authorized_cents"], source["authorized_at"].astype("int64") // 1_000, strict=True))

    assert not re.search("Secret|source-user|00000000-|[0-9]{2}:[0-9]{2}|20[0-9]{2}-", text)
    assert not re.search("Secret|source-user|00000000-0000", held)
    assert not pairs & {(row["authorized"], row["authorized_at"]) for row in twin.records("transaction")}


def test_a_sandbox_is_a_source_as_well(tmp_path):
    """The twin of a world, of the same seed, shares no transaction with it."""
    (tmp_path / "source.toml").write_text("size = 40\nhabit = 0.8\n")
    source = Sandbox(world=tmp_path / "source.toml").records("transaction")
    numbers = wb.world_from(source)
    numbers.save(tmp_path / "twin.toml")
    twin = Sandbox(world=tmp_path / "twin.toml").records("transaction")
    small = {row["id"] for row in Sandbox().records("transaction")}
    pairs = [
        {(row["authorized"], row["authorized_at"]) for row in rows if row["id"] not in small} for rows in (source, twin)
    ]

    assert numbers.table["habit"] == pytest.approx(0.8, abs=0.07)
    assert len(pairs[0]) > 1_000 < len(pairs[1])
    assert not pairs[0] & pairs[1]


def test_small_groups_are_left_out(source):
    """A category, a reason and an hour of 19 users are not in the numbers; with 20 they are."""

    def numbers(users: int) -> ProgramNumbers:
        rare = source.drop_duplicates("user_id").head(users)
        night = rare["authorized_at"].dt.floor("D") + pd.Timedelta(hours=3)
        rare = rare.assign(
            merchant_category_code="7995", declined_reason="card_canceled", status="declined", authorized_at=night
        )
        rest = source[source["authorized_at"].dt.hour != 3]
        return wb.world_from(pd.concat([rest, rare], ignore_index=True))

    few, enough = numbers(19).table, numbers(20).table

    assert ("7995" in str(few["categories"]), "7995" in str(enough["categories"])) == (False, True)
    assert ("card_canceled" in str(few["declines"]), "card_canceled" in str(enough["declines"])) == (False, True)
    assert (few["hours"][3] > 0, enough["hours"][3] > 0) == (False, True)


def test_too_few_users_are_no_program(source):
    few = source[source["user_id"].isin(source["user_id"].unique()[:19])]

    with pytest.raises(UsageError, match="at least 20 users"):
        wb.world_from(few)
    with pytest.raises(UsageError, match="at least 20 users"):
        wb.world_from([])


def test_points_are_learned_from_rewards(source):
    earned = pd.DataFrame(
        {"type": "earned", "points": 5.0, "transaction_amount_cents": 100, "spend_category": "groceries"},
        index=range(20),
    )
    points = {row["code"]: row.get("points") for row in wb.world_from(source, rewards=earned).table["categories"]}

    assert points["5411"] == 5
    assert points["4511"] is None
    assert "points" not in str(wb.world_from(source, rewards=earned[:19]).table)


def test_the_file_holds_what_can_be_edited(file, tmp_path):
    """Another size makes a program of that size."""
    smaller = tmp_path / "smaller.toml"
    smaller.write_text(file.read_text().replace(f"size = {USERS}", "size = 37"))

    assert sum(user["last_name"] == "Example" for user in Sandbox(world=smaller).records("user")) == 37


def test_the_money_rules_hold(twin):
    """Each card adds up within its limit, nothing lies ahead, and points follow the purchases of an own category."""
    now = twin.clock.ms
    spent: Counter[str] = Counter()
    for row in twin.records("transaction"):
        spent[row["card"]] += row["settled"] - row["refunded"] + row["held"]
        assert max(row["authorized_at"], row["posted_at"] or 0) <= now
        assert 0 <= row["refunded"] <= row["settled"] <= row["authorized"]
    for card in twin.records("card"):
        assert card["limit"] == card["available"] + card["held"] + card["posted"] - card["refunded"]
        assert card["limit"] - card["available"] == spent[card["id"]]
        assert card["available"] >= 0


@pytest.mark.slow
def test_the_facts_of_the_document_hold(file, tmp_path):
    """In a program of this kind the sandbox answers as in the small world."""
    path = tmp_path / "program.toml"
    path.write_text(file.read_text().replace(f"size = {USERS}", "size = 30"))
    sandbox = Sandbox(world=path)
    departures = [fact.claim for fact in facts.FACTS if not facts.holds(fact, sandbox.fork())]

    assert sorted(departures) == sorted(facts.DEPARTURES["documented"])


def test_the_command_reads_logs(tmp_path, capsys):
    """`workbench sandbox world` writes what `world_from` returns of the same log."""
    log = tmp_path / "events.ndjson"
    with wb.connect() as api:
        cards = api.sandbox.guide()["cards"]["active"][:24]
        for number, card in enumerate(cards):
            purchase = api.simulate_authorization(
                card_id=card,
                amount=1_000 + number,
                currency="USD",
                merchant_name="Secret Shop",
                merchant_category_code="5411",
            )
            api.sandbox.settle(purchase.transaction_id)
        log.write_text("".join(json.dumps(event.payload) + "\n" for event in api.sandbox.events()))

    assert main(["sandbox", "world", str(log), "--out", str(tmp_path / "program.toml")]) == 0
    assert (tmp_path / "program.toml").read_text() == wb.world_from(log).to_toml()
    assert "size = 24" in (tmp_path / "program.toml").read_text()
    assert main(["sandbox", "world", str(tmp_path / "missing.ndjson"), "--out", "x.toml"]) == 2
