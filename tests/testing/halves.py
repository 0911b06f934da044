"""Learn a behavior from the first half of a service's traffic, and compare the second half with a sandbox of this behavior.

`python -m tests.testing.halves` records the traffic of twelve served sandboxes with httpx. Each sandbox differs from the
documented behavior in 1 to 40 settings. The second half is not used for learning.
"""

import json
import random
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import attrs
import orjson

from tests.testing.services import Har, Traffic, over_http
from workbench.sandbox import Sandbox
from workbench.sandbox.behavior import read_behavior
from workbench.service.interface.assumptions import ANY, BEHAVIORS, STATUS, settings
from workbench.testing.learning import Replay, learn, sample_of
from workbench.testing.recorded import Reading, read_traffic

COUNTS = (1, 2, 3, 4, 6, 8, 10, 14, 18, 24, 32, 40)
UNDECIDED = (
    "event_retries", "event_retry_spread", "event_ids", "review_seconds", "settle_by_clock", "reversed_lists",
    "extra_members", "status_reasons", "tightened_roles", "unknown_members", "unknown_values",
)  # fmt: skip
"""Settings that no replay can determine: delays, the order of lists, members that are not compared, and rehearsals."""
VALUES = {"error_bodies": {"400": {"error": "Bad Request"}}}
"""Values for settings that a replay can determine only in part."""
HIDING = [
    ("evidence_total", "evidence_appended"),
    ("disputes_closed", "empty_patch"),
    ("user_event_terms", "terms_not_accepted"),
    ("previously_authorized", "transaction_events"),
]
"""Pairs of settings. If both differ, this traffic does not show the first one."""


def values() -> list[Any]:
    """Return each setting that a replay can determine, with a value other than the documented one."""
    rows = []
    for row in BEHAVIORS.values():
        if row.settable and row.id not in UNDECIDED:
            others = ("422" if other == STATUS else other for other in (row.observed, *row.others))
            other = next(other for other in others if other not in (row.documented, None, ANY))
            rows.append((row.id, VALUES.get(row.id, other)))
    return rows


def different(dice: random.Random, count: int) -> dict[str, Any]:
    """Return a random behavior with N differing settings that do not hide each other."""
    hidden = {
        "settle_route", "success_codes", "null_values", "deprecated_alias",
        "withdrawal_scope", "withdrawal_other_while_active", "outcome_by_name", "status_links", "event_version",
        "empty_body", "refund_amount_omitted", "over_limit", "card_not_active", "settle_bounds",
        "wrong_state", "body_size", "duplicate_external_id", "full_reversal_status", "event_statuses_shown", "content_type",
    }  # fmt: skip
    hidden |= {dice.choice(pair) for pair in HIDING}
    return dict(dice.sample([(name, value) for name, value in values() if name not in hidden], count))


def plain(behavior: Mapping[str, Any]) -> Any:
    """Return settings converted to JSON and back."""
    return json.loads(orjson.dumps(behavior))


@attrs.frozen
class Half:
    """The calls and events of one half of the traffic."""

    har: Har
    events: list[dict[str, Any]]

    @property
    def answers(self) -> list[tuple[int, str]]:
        responses = [entry["response"] for entry in self.har.entries]
        return [(response["status"], response["content"]["text"]) for response in responses]

    def write(self, folder: Path) -> list[Path]:
        """Write a HAR file and stored webhooks."""
        folder.mkdir()
        lines = [json.dumps({"headers": {"Signature": "0" * 64}, "body": event}) + "\n" for event in self.events]
        (folder / "webhooks.ndjson").write_text("".join(lines))
        return [self.har.write(folder / "calls.har"), folder / "webhooks.ndjson"]


def recorded(behavior: Any) -> list[Half]:
    """Return both halves of the traffic with a served sandbox, recorded by a separate client."""
    sandbox, halves, known = Sandbox(behavior=behavior, seed=7), [], 0
    with sandbox.serve() as served:
        for _ in range(2):
            har = Har()
            with over_http(served.partition("/v1")[0], har) as send:
                traffic = Traffic(sandbox, send, None)
                traffic.run()
            events = list(traffic._events())
            halves.append(Half(har, events[known:]))
            known = len(events)
    sandbox.close()
    return halves


@attrs.frozen
class Outcome:
    """The result for one service: what was learned, and how many answers and events of the second half differ."""

    settings: int
    learned_exactly: bool
    answers: int
    differ: int
    events: int
    events_differ: int
    fits: bool

    @property
    def ok(self) -> bool:
        return self.learned_exactly and not self.differ and not self.events_differ and self.fits and self.answers > 0


def fits(files: list[Path], behavior: Path) -> bool:
    """Return whether a replay of traffic on a sandbox with a behavior shows no difference."""
    sample = sample_of(read_traffic(files, {}, Reading()), Reading())
    replay = Replay(sample, {**settings("documented"), **read_behavior(behavior)[1]}, search=False)
    replay.run()
    return bool(sample.calls) and not replay.differences


def outcome(number: int, count: int, folder: Path) -> Outcome:
    """Learn from the first half, and compare the second half with a sandbox and a replay that use the learned behavior."""
    behavior = different(random.Random(number), count)
    first, second = recorded(behavior)
    learned = learn(first.write(folder / "first"))
    learned.save(folder / "acme.toml")
    _, again = recorded(folder / "acme.toml")
    return Outcome(
        settings=count,
        learned_exactly=plain(learned.behavior) == plain(behavior),
        answers=len(second.answers),
        differ=sum(one != other for one, other in zip(second.answers, again.answers, strict=True)),
        events=len(second.events),
        events_differ=sum(one != other for one, other in zip(second.events, again.events, strict=True)),
        fits=fits(second.write(folder / "second"), folder / "acme.toml"),
    )


def outcomes() -> Iterator[Outcome]:
    """Yield the result for each service."""
    for number, count in enumerate(COUNTS):
        with TemporaryDirectory() as folder:
            yield outcome(number, count, Path(folder))


def main() -> int:
    """Print a line for each service, and the sums; return 1 if a service differs."""
    rows = []
    for row in outcomes():
        rows.append(row)
        print(
            f"{row.settings:>2} settings, learned exactly: {'yes' if row.learned_exactly else 'NO'}; second half: "
            f"{row.answers} answers, {row.differ} differ; {row.events} events, {row.events_differ} differ; "
            f"fits the file: {'yes' if row.fits else 'NO'}",
            flush=True,
        )
    print(
        f"{sum(row.ok for row in rows)} of {len(rows)} services; {sum(row.answers for row in rows):,} answers, "
        f"{sum(row.differ for row in rows)} differ; {sum(row.events for row in rows):,} events, "
        f"{sum(row.events_differ for row in rows)} differ"
    )
    return 0 if all(row.ok for row in rows) else 1


if __name__ == "__main__":
    sys.exit(main())
