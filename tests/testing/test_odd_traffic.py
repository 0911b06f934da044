"""Recorded traffic of any form: mutated files give a result or a workbench error, never an error of Python."""

import copy
import json
import random
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import workbench as wb
from tests.testing.services import Har, Traffic, in_process
from workbench.sandbox import Sandbox
from workbench.sandbox.service import Service
from workbench.testing import Corpus

ODD: list[Any] = [
    None, True, 0, -1, 2**63, 1.5, 1e300, "", "²", "\ud83d", "null", "\x1b]0;x\x07", "a" * 5_000, [], [5], [[]], {}, {"a": 1},
    [None, None], "2026-13-45T99:99:99Z", "0x" + "f" * 41, {"name": None}, "9" * 400,
]  # fmt: skip


def places(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """Return the paths of all values in a JSON value."""
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return [path, *(place for name, item in items for place in places(item, (*path, name)))]


def mutated(value: Any, dice: random.Random) -> Any:
    """Return a JSON value with one to three values replaced or dropped."""
    changed = copy.deepcopy(value)
    for _ in range(dice.randint(1, 3)):
        *above, name = dice.choice(places(changed)[1:] or [("",)])
        target = changed
        for part in above:
            target = target[part]
        if not isinstance(target, dict | list):
            return changed
        if dice.random() < 0.2:
            del target[name]
        else:
            target[name] = dice.choice(ODD)
    return changed


@pytest.fixture(scope="module")
def recorded() -> tuple[list[Any], list[Any]]:
    """Return entries of a HAR file with bodies as JSON values, and events."""
    sandbox, har = Sandbox(seed=7), Har()
    traffic = Traffic(sandbox, in_process(sandbox), har)
    traffic.run()
    entries = [entry for entry in har.entries if entry["request"]["bodySize"] < 10_000]
    for entry in entries:
        content = entry["response"]["content"]
        content["json"] = json.loads(content.pop("text") or "null")
        if posted := entry["request"].get("postData"):
            posted["json"] = json.loads(posted.pop("text") or "null")
    return entries, [json.loads(json.dumps(row.payload, default=str)) for row in sandbox.events(all_tenants=True)]


def as_text(entry: Any) -> Any:
    """Return an entry whose bodies are texts again, if they are present."""
    for part in (entry.get("request"), entry.get("response")) if isinstance(entry, dict) else ():
        for name in ("postData", "content"):
            body = part.get(name) if isinstance(part, dict) else None
            if isinstance(body, dict) and "json" in body:
                body["text"] = json.dumps(body.pop("json"))
    return entry


def with_odd_members(entries: list[Any], value: Any) -> Iterator[Any]:
    """Yield an answer of each status with one member replaced by the value, or with an additional member."""
    for entry in {entry["response"]["status"]: entry for entry in entries}.values():
        answer = entry["response"]["content"]["json"]
        for name in [*answer, "addedLater"] if isinstance(answer, dict) else ():
            changed = copy.deepcopy(entry)
            changed["response"]["content"]["json"][name] = value
            yield changed


@pytest.mark.slow
@pytest.mark.parametrize("rounds", [1, pytest.param((len(ODD) + 1) // 2, marks=pytest.mark.soak)])
def test_mutated_traffic_raises_no_error_of_python(recorded: Any, rounds: int, tmp_path: Path) -> None:
    """Mutated calls and events raise no error of Python, and the output has no control sequences."""
    entries, events = recorded
    for number in range(rounds):
        dice = random.Random(number)
        some = [mutated(entry, dice) for entry in dice.sample(entries, 8)]
        more = [entry for value in ODD[2 * number : 2 * number + 2] for entry in with_odd_members(entries, value)]
        some = [as_text(entry) for entry in (*some, *more)]
        lines = [mutated(dice.choice(events), dice) for _ in range(6)]
        (tmp_path / "calls.har").write_text(json.dumps({"log": {"entries": some}}))
        (tmp_path / "calls.ndjson").write_text("\n".join(json.dumps(entry) for entry in some))
        (tmp_path / "events.ndjson").write_text("\n".join(json.dumps(line) for line in lines))
        try:
            learned = wb.learn([tmp_path / "calls.har", tmp_path / "events.ndjson"])
            corpus = Corpus(tmp_path / f"corpus {number}")
            corpus.add([tmp_path / "calls.ndjson", tmp_path / "events.ndjson"])
            shown = f"{learned}{learned.to_toml()}{corpus.check('observed')}"
        except wb.WorkbenchError as error:
            shown = str(error)
        assert "\x1b]" not in shown, number


def test_a_python_error_of_the_replay_is_counted_in_the_notes(recorded: Any, tmp_path: Path, monkeypatch: Any) -> None:
    """Calls that fail in the sandbox with an error of Python are counted in a note."""

    def broken(*_: object) -> None:
        raise TypeError("a defect")

    entries, _ = recorded
    path = tmp_path / "calls.har"
    path.write_text(json.dumps({"log": {"entries": entries}}))
    monkeypatch.setattr(Service, "handle", broken)
    notes = wb.learn(path).notes

    assert any(re.search(r"fail in the sandbox \(the first with TypeError for calls.har", note) for note in notes), (
        notes
    )
