"""Learning from recorded traffic: exactly the settings that the traffic shows are learned, from every kind of file."""

import hashlib
import hmac
import io
import json
import re
import sqlite3
import tomllib
from contextlib import closing, redirect_stdout, suppress
from pathlib import Path
from typing import Any

import orjson
import pytest

import workbench as wb
from tests.testing import halves
from tests.testing.halves import plain, values
from tests.testing.services import BASE, Har, Traffic, in_process
from workbench import testing
from workbench.base.errors import UnusableFile, UsageError
from workbench.sandbox import Sandbox
from workbench.service.interface.assumptions import BEHAVIORS
from workbench.terminal import main
from workbench.testing import recorded as reading
from workbench.testing.learning import Learned, learn

PAGE = Path(__file__).parent.parent.parent / "docs" / "learning.md"
NEEDS = {"withdrawal_scope": {"withdrawal_other_while_active": "409"}}
"""Settings that show beside another one alone."""


def recorded(behavior: Any, folder: Path, seed: int = 7) -> list[Path]:
    """Return files of traffic with a sandbox of the given behavior."""
    sandbox, har = Sandbox(behavior=behavior, seed=seed), Har()
    traffic = Traffic(sandbox, in_process(sandbox), har)
    traffic.run()
    return [har.write(folder / "calls.har"), traffic.webhooks(folder / "webhooks.ndjson")]


def unexplained(learned: Learned) -> list[str]:
    """Return the status of each observation that no setting explains."""
    return [row.status for row in learned.findings if row.status in ("difference", "unlisted")]


@pytest.fixture(scope="module")
def documented(tmp_path_factory) -> list[Path]:
    return recorded(None, tmp_path_factory.mktemp("documented"))


@pytest.mark.slow
def test_the_documented_behavior_is_confirmed(documented) -> None:
    learned = learn(documented)

    assert learned.ok
    assert learned.behavior == {}
    assert unexplained(learned) == []
    confirmed = {finding.id for finding in learned.findings if finding.status == "confirmed"}
    settable = {row.id for row in BEHAVIORS.values() if row.settable}
    assert len(confirmed & settable) > 70
    assert {"simulate_authorization.decline_reason", "withdrawal_signature.parameters"} <= confirmed
    assert {"id", "status", "seen"} <= set(wb.to_frame(learned).columns)
    assert "confirmed" in str(learned)


def test_the_page_counts_the_settings() -> None:
    """The page states the number of settings, and how many of them traffic can show."""
    settable = sum(row.settable for row in BEHAVIORS.values())

    assert f"A test changes {len(values())} of the {settable} settings, " in PAGE.read_text(encoding="utf-8")


@pytest.mark.parametrize(
    "name, value",
    [
        pytest.param(name, value, id=name, marks=pytest.mark.soak if number else pytest.mark.slow)
        for number, (name, value) in enumerate(values())
    ],
)
def test_each_setting_changes_the_sandbox_and_is_learned(name, value, tmp_path) -> None:
    """Exactly the changed setting is learned. A sandbox with the learned file gives the same answers."""
    behavior = {**NEEDS.get(name, {}), name: value}
    learned = learn(recorded(behavior, tmp_path))

    assert plain(learned.behavior) == plain(behavior)
    learned.save(tmp_path / "acme.toml")
    assert halves.fits([tmp_path / "calls.har", tmp_path / "webhooks.ndjson"], tmp_path / "acme.toml")


@pytest.mark.soak
@pytest.mark.parametrize("number, count", list(enumerate(halves.COUNTS)))
def test_the_second_half_of_the_traffic_fits(number, count, tmp_path) -> None:
    """A file learned from one half of the traffic has exactly the changed settings, and answers the other half."""
    assert halves.outcome(number, count, tmp_path).ok


@pytest.mark.soak
def test_an_outcome_tells_differences_apart(tmp_path, monkeypatch) -> None:
    """The comparison of the previous test fails if another setting is learned."""
    monkeypatch.setattr(Learned, "behavior", {"refund_bounds": "422"})
    outcome = halves.outcome(0, 1, tmp_path)

    assert (outcome.ok, outcome.learned_exactly, outcome.fits) == (False, False, False)
    assert outcome.differ > 0


@pytest.mark.slow
def test_a_behavior_file_is_valid_and_reviewable(tmp_path) -> None:
    behavior = {"duplicate_external_id": "422", "error_bodies": {"400": {"error": "Bad Request"}}, "rate_limit": 600}
    learned = learn(recorded(behavior, tmp_path))
    text = learned.to_toml()

    assert plain(tomllib.loads(text)) == plain({"behavior": "documented", **behavior})
    assert "# refuted, 1 of 1, calls.har:" in text
    assert 'duplicate_external_id = "422"' in text
    assert "# confirmed: empty_patch, " in text
    learned.save(tmp_path / "acme.toml")
    with wb.connect(behavior=str(tmp_path / "acme.toml")) as api, pytest.raises(wb.errors.BadRequest) as refused:
        api.simulate_authorization(
            card_id=api.sandbox.guide()["cards"]["locked"][0], amount=5, currency="USD", merchant_name="A",
            merchant_category_code="5411",
        )  # fmt: skip
    assert refused.value.error == "Bad Request"


@pytest.mark.slow
def test_mixed_observations_set_nothing(documented, tmp_path) -> None:
    other = recorded({"card_not_active": "declined"}, tmp_path, seed=8)
    learned = learn([*documented, *other])
    (finding,) = [row for row in learned.findings if row.id == "card_not_active"]

    assert (finding.status, finding.seen) == ("mixed", "1 of 2")
    assert learned.behavior == {}
    assert "# mixed: card_not_active, 1 of 2" in learned.to_toml()


@pytest.mark.slow
def test_logs_with_other_names(documented, tmp_path) -> None:
    """A gateway's log, one JSON object a line, is read with its own member names."""
    entries = json.loads(documented[0].read_text())["log"]["entries"][:60]
    names = {"method": "http.method", "url": "http.target", "status": "http.status", "request_body": "req",
             "response_body": "res", "response_headers": "h", "request_headers": "q"}  # fmt: skip
    with (tmp_path / "gateway.ndjson").open("w") as file:
        for entry in entries:
            request, response = entry["request"], entry["response"]
            line = {
                "http": {"method": request["method"], "target": request["url"], "status": response["status"]},
                "req": request.get("postData", {}).get("text"), "res": response["content"]["text"],
                "h": {pair["name"]: pair["value"] for pair in response["headers"]},
                "q": {pair["name"]: pair["value"] for pair in request["headers"]},
            }  # fmt: skip
            file.write(json.dumps(line) + "\n")
    (tmp_path / "plain.ndjson").write_text("\n".join(map(json.dumps, entries)))
    (tmp_path / "calls.har").write_text(json.dumps({"log": {"entries": entries}}))

    first = [(row.id, row.status, row.seen) for row in learn(tmp_path / "calls.har").findings]
    assert len(first) > 20
    assert [(row.id, row.status, row.seen) for row in learn(tmp_path / "gateway.ndjson", names=names).findings] == first
    assert [(row.id, row.status, row.seen) for row in learn(tmp_path / "plain.ndjson").findings] == first


def test_inboxes_journals_and_recordings(tmp_path) -> None:
    with wb.connect(path=tmp_path / "s.db", journal=tmp_path / "j.db", behavior="observed") as api:
        inbox = wb.Inbox(tmp_path / "i.db", keys=["key"], accept_unsigned=False)
        with testing.record(api, tmp_path / "calls.ndjson"):
            card = api.sandbox.guide()["cards"]["active"][0]
            made = api.simulate_authorization(
                card_id=card, amount=500, currency="USD", merchant_name="A", merchant_category_code="5411"
            )
            api.simulate_reversal(transaction_id=made.transaction_id, new_amount=wb.FULL)
        for row in api.sandbox.events():
            body = orjson.dumps(row.payload, default=str)
            inbox.receive({"Signature": hmac.new(b"key", body, hashlib.sha256).hexdigest()}, body)
        inbox.close()
    calls, journal, events = (learn(tmp_path / name) for name in ("calls.ndjson", "j.db", "i.db"))

    assert calls.behavior["full_reversal_status"] == journal.behavior["full_reversal_status"] == "settled"
    assert calls.behavior["rate_limit"] == 1_000_000
    assert events.behavior["full_reversal_completed"] is True


DAMAGED = {
    "empty.har": b"",
    "cut.har": b'{"log": {"entries": [{"request": {"method": "GE',
    "no entries.har": b'{"log": {"pages": []}}',
    "other.json": b"[1, 2, 3]",
    "text.log": b"GET /v1/x 200\n",
    "no answer.har": b'{"log": {"entries": [{"request": {"method": "GET", "url": "/v1/x"}}]}}',
    "unreadable.har": b'{"log": {"entries": [{"request": nope}]}}',
    "numbers.ndjson": b"1\n2\n",
    "foreign.ndjson": b'{"level": "info"}\n',
    "deep.ndjson": b"[" * 100_000,
    "other.db": b"SQLite format 3\0" + b"x" * 200,
}


@pytest.mark.parametrize("name", DAMAGED)
def test_damaged_and_foreign_files_are_named(name, tmp_path) -> None:
    path = tmp_path / name
    path.write_bytes(DAMAGED[name])
    with pytest.raises(UnusableFile, match=name.replace(".", r"\.")):
        learn(path)


@pytest.mark.slow
def test_the_page_runs(tmp_path, monkeypatch) -> None:
    """Each example of the page prints the output shown."""
    monkeypatch.chdir(tmp_path)
    page, names = PAGE.read_text(encoding="utf-8"), {}
    for code, output in re.findall(r"```python\n(.*?)```(?:\n\n```text\n(.*?)```)?", page, re.DOTALL):
        with redirect_stdout(io.StringIO()) as printed:
            exec(compile(code, PAGE.name, "exec"), names)
        assert printed.getvalue().strip() == output.strip()


@pytest.mark.slow
def test_the_command_writes(tmp_path, capsys) -> None:
    """`workbench corpus learn` prints the learned settings and writes them to a file."""
    command = ["corpus", "learn", *map(str, recorded({"refund_bounds": "422"}, tmp_path))]

    assert main([*command, "--out", str(tmp_path / "acme.toml")]) == 0
    assert tomllib.loads((tmp_path / "acme.toml").read_text())["refund_bounds"] == "422"
    assert "refund_bounds" in capsys.readouterr().out


def test_wrong_arguments(tmp_path) -> None:
    with pytest.raises(UsageError, match="at least one file"):
        learn([])
    with pytest.raises(UsageError, match=r"names\.nope"):
        learn(tmp_path / "a.har", names={"nope": "x"})
    with pytest.raises(UnusableFile, match="cannot be read"):
        learn(tmp_path / "missing.har")


@pytest.mark.parametrize(
    "table, row",
    [
        ("events(body, arrived)", "(x'c5ff', 'x')"),
        ("events(body, arrived)", "(cast(x'7bc5' as text), 1)"),
        ("calls(operation, status, started, request, answer, number)", "('update_user', 200, 1, '{', x'ff', 1)"),
        ("calls(operation, status, started, request, answer, number)", "('update_user', 'x', null, '[1]', 7, 1)"),
    ],
)
def test_a_damaged_database_is_refused(table: str, row: str, tmp_path: Path) -> None:
    """Rows of other types, and texts that are not UTF-8 or JSON, raise a workbench error."""
    with closing(sqlite3.connect(tmp_path / "a.db")) as file:
        file.executescript(f"CREATE TABLE {table}; INSERT INTO {table} VALUES {row};")
    with pytest.raises(wb.WorkbenchError):
        wb.learn(tmp_path / "a.db")


def har_of(entries: list[str], before: str = '"pages": [{"id": "p"}], ', after: str = "") -> bytes:
    return ('{"log": {' + before + '"entries": [' + ", ".join(entries) + "]" + after + "}}").encode()


def test_entries_are_found_whatever_their_form(tmp_path, monkeypatch) -> None:
    """HAR entries are found in any layout and order of members, also across chunks of the file."""
    call = {"startedDateTime": "2026-01-01T00:00:00Z", "request": {"method": "GET", "url": "https://x.example.com/v1/nothing"},
            "response": {"status": 404, "content": {"text": '{"a": "}, {\\"startedDateTime\\": 1}, {"}'}}}  # fmt: skip
    nested = {**call, "log": [{"b": 1}, {"startedDateTime": 2}, {"startedDateTime": 3}]}
    turned = dict(reversed(call.items()))
    rows = [call, nested, turned, call, turned, turned, nested, call, call]
    texts = {
        "line.har": har_of([json.dumps(row) for row in rows]),
        "indented.har": har_of([json.dumps(row, indent=8) for row in rows], after=', "comment": "]}}"'),
        "compact.har": har_of([json.dumps(row, separators=(",", ":")) for row in rows]).replace(b", {", b",{"),
        "deep.har": har_of([json.dumps(row, indent=4).replace("\n", "\n" + " " * 200) for row in rows]),
        "turned.har": har_of([json.dumps(turned), *map(json.dumps, rows[1:])]),
    }
    for chunk in (7, 100, 1 << 20):
        monkeypatch.setattr(reading, "CHUNK", chunk)
        for name, data in texts.items():
            (tmp_path / name).write_bytes(data)
            assert learn(tmp_path / name).counts["exchanges"] == len(rows), (name, chunk)


def test_a_file_that_is_cut_anywhere_is_read_until_there(tmp_path) -> None:
    """Entries before the end of a truncated file are read, and a note says that the file is cut off."""
    call = {"startedDateTime": "", "request": {"method": "GET", "url": "/v1/x"}, "response": {"status": 404}}
    data = har_of([json.dumps(call)] * 3)
    for end in range(20, len(data) - 3):
        (tmp_path / "cut.har").write_bytes(data[:end])
        noted = reading.Reading()
        with suppress(UnusableFile):
            list(reading.read_traffic([tmp_path / "cut.har"], {}, noted))
        whole = data[:end].count(b"404}}")
        assert noted.counts["exchanges"] == whole, end
        assert whole == 3 or not whole or any("cut off" in note for note in noted.notes()), end


def test_a_refund_above_a_settlement_that_no_call_made(tmp_path) -> None:
    """With the settlement's event the setting is learned. Without it two settings are possible, and none is learned."""
    sandbox, har = Sandbox(behavior={"refund_bounds": "422"}, seed=3), Har()
    traffic = Traffic(sandbox, in_process(sandbox), har)
    transaction = traffic.authorize(2000)
    sandbox.advance(hours=5)
    sandbox.settle(transaction)
    sandbox.advance(hours=1)
    traffic.act(transaction, "refund", {"amount": 5000})
    calls, events = har.write(tmp_path / "calls.har"), traffic.webhooks(tmp_path / "webhooks.ndjson")
    alone = learn(calls)

    assert learn([calls, events]).behavior == {"refund_bounds": "422"}
    assert alone.behavior == {}
    assert {row.id for row in alone.findings if row.status == "undecided"} == {"refund_bounds", "wrong_state"}


@pytest.mark.parametrize("order", ["newest", "oldest"])
def test_rewards_of_equal_times_keep_the_order_of_the_pages(order: str, tmp_path: Path) -> None:
    """Rows of the same second on two pages are no difference. A page after unknown rows is not compared."""
    seconds = [9, 7, 7, 7, 7, 3] if order == "newest" else [3, 7, 7, 7, 7, 9]
    items = [
        {
            "id": str(i),
            "type": "earned",
            "transactionAmountCents": i,
            "reason": "CARD_SPEND",
            "createdAt": f"2026-01-01T00:00:0{second}Z",
        }
        for i, second in enumerate(seconds)
    ]

    def call(limit: int, offset: int) -> str:
        query = f"userId=9b26cf74-10af-42ce-bea3-5d52ed4a93c6&limit={limit}&offset={offset}"
        url, page = f"{BASE}/v1/issuing/rewards/activity?{query}", {"items": items[offset : offset + limit]}
        return json.dumps({"method": "GET", "url": url, "status": 200, "response_body": page})

    (tmp_path / "calls.ndjson").write_text("\n".join([call(3, 0), call(3, 3), call(6, 0)]))
    (tmp_path / "later.ndjson").write_text(call(3, 3))
    learned, later = learn(tmp_path / "calls.ndjson"), learn(tmp_path / "later.ndjson")

    assert (unexplained(learned), unexplained(later), later.behavior) == ([], [], {})
    assert learned.behavior == ({} if order == "newest" else {"rewards_order": "oldest"})
    assert any("not compared: 1 pages of rewards" in note for note in later.notes)


@pytest.mark.parametrize("status", [401, 403])
def test_a_refusal_that_the_key_may_explain_decides_nothing(status: int, tmp_path: Path) -> None:
    """A 401 or 403 may be due to the key's roles, and teaches nothing. Another refusal is a difference."""
    user = "/v1/issuing/users/9b26cf74-10af-42ce-bea3-5d52ed4a93c6"
    call = {"method": "PATCH", "url": BASE + user, "request_body": {"isActive": True}, "response_body": {}}

    def learned(status: int) -> Learned:
        (tmp_path / "calls.ndjson").write_text(json.dumps({**call, "status": status}))
        return learn(tmp_path / "calls.ndjson")

    assert (learned(status).behavior, unexplained(learned(status))) == ({}, [])
    assert unexplained(learned(409)) == ["difference"]


@pytest.mark.slow
@pytest.mark.parametrize(
    "behavior",
    [
        pytest.param({"unknown_members": True}, id="members"),
        pytest.param({"unknown_values": ("status",)}, id="values", marks=pytest.mark.soak),
    ],
)
def test_what_no_setting_explains_teaches_no_other_setting(behavior: Any, tmp_path: Path) -> None:
    """Undocumented members and statuses change no setting.

    The members are counted, and the statuses are differences.
    """
    learned = learn(recorded(behavior, tmp_path))

    assert learned.behavior == {}
    assert bool(unexplained(learned)) == ("unknown_values" in behavior)
    assert any("document does not name" in note for note in learned.notes) == ("unknown_members" in behavior)
