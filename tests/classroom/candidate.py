"""A candidate of an exam: `python candidate.py WAY` answers the drill of WORKBENCH_DRILL in one way."""

import json
import os
import sys
import time
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import httpx

sys.path.insert(0, str(Path(__file__).parents[2]))

import workbench as wb
from tests.course.test_drills import ANSWERS

DRILL = os.environ["WORKBENCH_DRILL"]


def answer(number: int) -> None:
    """Answer as a program that uses the package: well (0), or badly in two ways (1, 2)."""
    with wb.connect(seed=7, journal="journal.db") as api:
        run = wb.course.drill(api, DRILL)
        if DRILL == "rotated-key":
            receive(api, run, number)
        else:
            ANSWERS[DRILL][number](api, run)


def receive(api: wb.Session, run: Any, number: int) -> None:
    """Serve an inbox with the new key, an old one, or none, and keep it running while the examiner looks."""
    inbox: Any = ({"keys": [run.facts["signing_key"]]}, {"keys": ["drill-key-0001"]}, {"accept_unsigned": True})[number]
    with wb.Inbox(**inbox) as received, received.serve(port=run.facts["port"]):
        api.sandbox.flush(timeout=60)
        for event in api.sandbox.events(since=run.facts["after"]):
            api.sandbox.resend(event.payload["id"], run.facts["endpoint"])
        time.sleep(600 if number == 0 else 4)


def by_url() -> None:
    """Solve stuck-reviews by HTTP alone, as a program in another language."""
    url, users = os.environ["WORKBENCH_CLASS"], json.loads(Path("drill.json").read_text())["facts"]["users"]
    key = {"api-key": httpx.get(f"{url}/_sandbox/guide").json()["api_keys"]["full"]}
    given = {"phoneCountryCode": "1", "phoneNumber": "5550177"}
    httpx.patch(f"{url}/v1/issuing/users/{users['needsInformation']}", json=given, headers=key).raise_for_status()
    httpx.post(f"{url}/_sandbox/accept_terms", json={"user_id": users["tosNotAccepted"]}, headers=key)
    httpx.post(f"{url}/_sandbox/advance", json={"minutes": 30}, headers=key).raise_for_status()
    for user in users.values():
        httpx.post(f"{url}/_sandbox/review", json={"user_or_owner_id": user, "status": "approved"}, headers=key)


def forge() -> None:
    """Claim to have solved it: a report to the class, and the bookings of the drill rewritten."""
    path = Path(os.environ["WORKBENCH_STATE"]) / "drills.json"
    kept = json.loads(path.read_text())
    kept[DRILL] |= {"ledger": [], "bookings": 99, "solved_at": "2026-01-01T00:00:00+00:00", "users": {}}
    path.write_text(json.dumps(kept))
    content = {"kind": "check", "exercise": f"drill-{DRILL}", "missing": []}
    httpx.post(f"{os.environ['WORKBENCH_CLASS']}/_class", json=content)


def production() -> None:
    """Try to arm a session for production, which fails: the program ends with an error, and nothing is solved."""
    settings = {"base_url": "https://127.0.0.1:9/v1", "api_key": "k" * 20, "journal": "p.db"}
    with wb.Client(**settings, environment="production") as real:
        real.arm(operations={"update_user"}, minutes=1, reason="an exam")


def too_slow() -> None:
    """Solve it, and go on."""
    answer(0)
    time.sleep(60)


WAYS = {"url": by_url, "forge": forge, "production": production, "slow": too_slow, "nothing": lambda: None}

if __name__ == "__main__":
    way = sys.argv[1]
    assert urlsplit(os.environ["WORKBENCH_CLASS"]).hostname
    answer(int(way)) if way.isdigit() else WAYS[way]()
