"""Measure a year of a card program: 500 people apply, make purchases, get refunds, open disputes and redeem points.

Run: python -m tests.benchmarks.bench_year [--charts FOLDER]
"""

import argparse
import json
import random
import resource
import time
from collections import Counter
from pathlib import Path

import workbench as wb
from tests.sandbox.driver import PERSON
from workbench.base.errors import BadRequest
from workbench.sandbox import Request, Sandbox
from workbench.sandbox.internals import internals

PEOPLE = 500
DAYS = 365
PURCHASES = 0.25  # chance that a person makes a purchase on a day
MERCHANTS = (("Corner Grocery", "5411"), ("Blue Door Cafe", "5812"), ("City Transit", "4111"), ("Northern Air", "4511"))


class Year:
    """The calls of a card program to one sandbox, day by day."""

    def __init__(self, seed: int) -> None:
        self.dice = random.Random(seed)
        self.sandbox = Sandbox(seed, behavior={"settle_by_clock": 24 * 3600})  # purchases settle after one day
        self.headers = {"api-key": self.sandbox.full_key, "content-type": "application/json"}
        self.counts: Counter[str] = Counter()
        self.people: list[tuple[str, str]] = []  # each person's user id and card id
        self.bought: list[str] = []
        self.disputed: set[str] = set()

    def call(self, path: str, **body: object) -> dict[str, str]:
        """Send a request, and return the JSON of the answer."""
        request = Request("POST", f"/v1{path}", "", self.headers, json.dumps(body).encode())
        answer: dict[str, str] = json.loads(internals(self.sandbox).engine.answer(request).body)
        self.counts["calls"] += 1
        return answer

    def live(self) -> None:
        """Simulate the days of the year. A purchase settles a day later, when the clock moves."""
        for day in range(DAYS):
            while len(self.people) < PEOPLE * min(1, 2 * (day + 1) / DAYS):
                self._join()
            for _, card in self.people:
                if self.dice.random() < PURCHASES:
                    self._buy(card)
            self._change_minds()
            self.sandbox.advance(days=1)

    def _join(self) -> None:
        name = "Denied" if self.dice.random() < 0.02 else f"Member {len(self.people)}"
        user = self.call("/issuing/applications/user", **{**PERSON, "lastName": name})["id"]
        self.people.append((user, self.sandbox.create.card(user, limit=10_000_000).id))

    def _buy(self, card: str) -> None:
        name, code = self.dice.choice(MERCHANTS)
        more = {"declineReason": "cvv_mismatch"} if self.dice.random() < 0.05 else {}
        done = self.call(
            "/simulate/transactions/authorize", cardId=card, amount=self.dice.randrange(200, 15_000), currency="USD",
            merchantName=name, merchantCategoryCode=code, **more,
        )  # fmt: skip
        self.counts[done["status"]] += 1
        if done["status"] == "authorized":
            self.bought.append(done["transactionId"])

    def _change_minds(self) -> None:
        """Reverse, refund or dispute some purchases, and redeem points."""
        for _ in range(min(4, len(self.bought) // 50)):
            bought = self.dice.choice(self.bought)
            if self.sandbox.state(bought)["status"] == "authorized":
                self.call(f"/simulate/transactions/{bought}/reverse")
                self.counts["reversed"] += 1
            elif self.dice.random() < 0.8:
                self.counts["refunded"] += "transactionId" in self.call(
                    f"/simulate/transactions/{bought}/refund", amount=100
                )
            elif bought not in self.disputed:
                self.disputed.add(bought)
                self.sandbox.resolve_dispute(self.sandbox.open_dispute(bought).id, "accepted")
                self.counts["disputed"] += 1
        user, _ = self.dice.choice(self.people)
        if self.counts["authorized"] > 1_000 and self._redeem(user):
            self.counts["redeemed"] += 1

    def _redeem(self, user: str) -> bool:
        try:
            self.sandbox.redeem(user, 100)
        except BadRequest:
            return False
        return True


def draw(year: Year, folder: Path) -> None:
    """Save charts of the year."""
    from workbench import charts

    events = [one.payload for one in year.sandbox.events()]
    transactions = wb.history(events).transactions()
    users = [user for user, _ in year.people]
    sandbox = year.sandbox
    with wb.Client(
        base_url=sandbox.base_url, api_key=sandbox.full_key, transport=internals(sandbox).direct(), journal=False
    ) as api:
        rewards = wb.rewards.fetch(api, users, progress=False)
    now = sandbox.clock.now()
    disputes = list(sandbox.records("dispute"))
    made = {
        "approvals": charts.approvals_chart(wb.history(transactions).approvals(freq="week")),
        "spend": charts.spend_chart(wb.history(transactions).spend("merchant_name")),
        "points": charts.points_chart(rewards),
        "disputes": charts.disputes_chart(wb.history(disputes).filter(at=now).disputes()),
    }
    for name, axes in made.items():
        axes.figure.savefig(folder / f"year-{name}.svg", bbox_inches="tight")


def main() -> None:
    """Print the figures."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--charts", type=Path, help="save charts of the year in this folder")
    folder = parser.parse_args().charts
    start = time.perf_counter()
    year = Year(1)
    year.live()
    took = time.perf_counter() - start
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    events = internals(year.sandbox).last_event()
    print(f"{PEOPLE} people, {DAYS} days: {took:.1f} s, {peak:.0f} MB")
    print(f"{events:,} events; " + ", ".join(f"{count:,} {name}" for name, count in year.counts.items()))
    if folder is not None:
        draw(year, folder)


if __name__ == "__main__":
    main()
