"""A corpus of recorded traffic: no recorded value is in it, and each difference is the sandbox's or the service's."""

import gzip
import json
import random
from pathlib import Path
from typing import Any

import pytest

import workbench as wb
from tests.testing import halves, secrets
from tests.testing.services import Har, Traffic, in_process
from workbench.base.errors import UnusableFile, UsageError
from workbench.sandbox import Sandbox
from workbench.terminal import main
from workbench.testing import Corpus
from workbench.testing.recorded import Reading, read_traffic
from workbench.testing.shapes import Shapes

BEHAVIOR = {"refund_bounds": "422", "completion_reason_case": "lower", "withdrawal_lifetime": 300}


def recorded(behavior: Any, folder: Path, seed: int = 7, parts: tuple[str, ...] = ("run",)) -> list[Path]:
    """Return files of traffic, or of some parts of it, with a sandbox of the given behavior."""
    sandbox, har = Sandbox(behavior=behavior, seed=seed), Har()
    traffic = Traffic(sandbox, in_process(sandbox), har)
    for part in parts:
        getattr(traffic, part)()
    return [har.write(folder / "calls.har"), traffic.webhooks(folder / "webhooks.ndjson")]


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Corpus:
    folder = tmp_path_factory.mktemp("corpus")
    made = Corpus(folder / "acme")
    made.add(recorded(BEHAVIOR, folder))
    return made


@pytest.fixture(scope="module")
def learned(corpus: Corpus) -> Any:
    return wb.learn(corpus.folder)


@pytest.mark.slow
def test_the_corpus_learns_what_the_traffic_does(learned: Any) -> None:
    assert learned.behavior == BEHAVIOR
    assert {row.status for row in learned.findings} <= {"refuted", "undecided", "confirmed", "not seen"}


@pytest.mark.slow
def test_a_sandbox_with_the_learned_file_has_no_difference(corpus: Corpus, learned: Any, tmp_path: Path) -> None:
    """With the learned file no answer differs. With `documented` the different calls are listed."""
    learned.save(tmp_path / "acme.toml")
    right, wrong = corpus.check(tmp_path / "acme.toml"), corpus.check("documented")

    assert (right.ok, right.differences) == (True, ())
    assert not wrong.ok
    assert ("simulate_refund", "status", 422, 400, "sandbox") in {
        (row.operation, row.path, row.recorded, row.now, row.whose) for row in wrong.differences
    }


VALUES = (
    "ada@example.com", "Zelmira Quixano", "12345678", "2f1c9d1e-6b1b-4c1a-9d0f-0a1b2c3d4e5f", "0x" + "5a" * 20, "203.0.113.7",
    "1984-05-06",
)  # fmt: skip


def test_the_same_value_is_always_replaced_by_the_same_one() -> None:
    """Readers with one key replace a value equally, in any order. Different values get different replacements."""
    first, second = Shapes(bytes(32)), Shapes(bytes(32))
    replaced = [first.value(value) for value in VALUES]

    assert [second.value(value) for value in reversed(VALUES)] == replaced[::-1]
    assert [first.value(value) for value in VALUES] == replaced
    assert len({*replaced, *VALUES}) == 2 * len(VALUES)


@pytest.mark.slow
def test_ids_are_those_of_the_key(corpus: Corpus) -> None:
    """The corpus contains only replaced ids. The key file, which git ignores, maps them to the original ids."""
    text = "".join(path.read_text() for path in corpus.folder.glob("*.ndjson"))
    private = json.loads((corpus.folder / ".key").read_text())

    assert all(new in text for new in private["ids"])
    assert not any(old in text for old in private["ids"].values())
    assert ".key" in (corpus.folder / ".gitignore").read_text()


@pytest.mark.filterwarnings("ignore::workbench.base.errors.AdviceWarning")
@pytest.mark.parametrize(
    "name",
    [
        pytest.param(
            name, marks=pytest.mark.slow if name in ("calls.har", "access.log", "webhooks.ndjson") else pytest.mark.soak
        )
        for name in secrets.FORMS
    ],
)
def test_planted_values_are_in_no_file_and_no_report(
    name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Fifty planted private values, in every place of a file, are in no stored file and no output."""
    path = tmp_path / name
    secrets.FORMS[name](path)
    made = Corpus(tmp_path / "acme")
    assert main(["corpus", "add", str(path), "--to", str(made.folder)]) == 0
    main(["corpus", "check", str(made.folder)])
    learned, checked = wb.learn(path), made.check(against=wb.connect(seed=1))
    files = [file.read_text() for file in made.folder.iterdir() if file.name != ".key"]
    printed = [str(x) for result in (learned, checked) for x in (result, result.rows(), repr(result))]
    shown = "\n".join([*files, *printed, learned.to_toml(), *capsys.readouterr()])

    assert len(secrets.PLANTED) > 50
    assert [text for text in secrets.PLANTED if text in shown or json.dumps(text)[1:-1] in shown] == []
    rows = secrets.events() if name in ("webhooks.ndjson", "deliveries.csv", "inbox.db") else secrets.exchanges()
    assert sum(learned.counts.values()) == sum(1 for _ in rows)


@pytest.mark.slow
def test_differences_are_accepted_with_a_reason(corpus: Corpus, tmp_path: Path) -> None:
    """An accepted difference needs a reason, and one that no longer occurs is a problem."""
    about = corpus.folder / "corpus.toml"
    before = about.read_text()
    entry = '[[accepted]]\noperation = "{}"\npath = "{}"\nreason = "{}"\n'
    rows = {(row.operation, row.path) for row in corpus.check().differences}
    try:
        about.write_text("".join(entry.format(*row, "asked them") for row in rows))
        assert corpus.check().ok
        about.write_text(about.read_text() + entry.format("settle", "answer/nothing", "old"))
        assert corpus.check().problems == ("accepted, but no longer different: settle answer/nothing",)
        about.write_text(entry.format("settle", "status", ""))
        with pytest.raises(UsageError, match="needs a reason"):
            corpus.check()
    finally:
        about.write_text(before)


def test_a_change_of_the_service_is_distinguished(tmp_path: Path) -> None:
    """If the recorded calls are repeated, a changed answer of the service counts as the service's change."""
    with wb.connect(seed=7) as api, wb.testing.record(api, tmp_path / "calls.ndjson"):
        card = api.sandbox.guide()["cards"]["active"][0]
        made = api.simulate_authorization(
            card_id=card, amount=500, currency="USD", merchant_name="A", merchant_category_code="5411"
        )
        api.simulate_reversal(transaction_id=made.transaction_id, new_amount=wb.FULL)
    kept = Corpus(tmp_path / "acme")
    kept.add(tmp_path / "calls.ndjson")
    same = kept.check(against=wb.connect(seed=7))
    other = kept.check(against=wb.connect(seed=7, behavior={"full_reversal_status": "settled"}))

    assert (same.ok, same.differences) == (True, ())
    assert [(row.operation, row.path, row.now, row.whose) for row in other.differences] == [
        ("simulate_reversal", "answer/status", "settled", "service")
    ]


CHANGES = {
    "withdrawal_smallest_amount": "sign_withdrawal",
    "withdrawal_lifetime": "sign_withdrawal",
    "full_reversal_status": "simulate_reversal",
    "reversal_bounds": "simulate_reversal",
    "card_not_active": "simulate_authorization",
    "over_limit": "simulate_authorization",
    "duplicate_external_id": "create_user_application",
    "initiated_application": "create_user_application",
    "empty_patch": "update_dispute",
    "currency": "simulate_authorization",
    "rewards_beyond": "list_rewards_activity",
    "success_codes": "create_payment_account",
}
"""Settings in which twelve services change, and the operation that shows it."""


@pytest.mark.parametrize(
    "number", [pytest.param(number, marks=pytest.mark.soak if number else pytest.mark.slow) for number in range(12)]
)
@pytest.mark.filterwarnings("ignore::workbench.base.errors.AdviceWarning")
def test_each_difference_is_that_of_the_sandbox_or_of_the_service(number: int, tmp_path: Path) -> None:
    """Changed services give service differences, and wrong behavior files give sandbox differences."""
    service = halves.different(random.Random(number), halves.COUNTS[number])
    changed, operation = [*CHANGES.items()][number]
    others = dict(halves.values())
    after = {name: value for name, value in {**others, **service}.items() if (name in service) != (name == changed)}
    sandbox, har = Sandbox(behavior=service, seed=7), Har()
    send = in_process(sandbox)

    def recording(method: str, target: str, body: bytes, headers: dict[str, str]) -> Any:
        reply = send(method, target, body, headers)
        # unlike the HAR that `Traffic` records, this one includes the API key
        har.add(method, f"https://api.example.com{target}", body, headers, reply)
        return reply

    traffic = Traffic(sandbox, recording, None)
    traffic.run()
    kept = Corpus(tmp_path / "acme")
    kept.add([har.write(tmp_path / "calls.har"), traffic.webhooks(tmp_path / "webhooks.ndjson")])
    right = dict(wb.learn(kept.folder).behavior)
    wrong = {name: value for name, value in right.items() if name != min(right)}

    def differences(behavior: Any, now: Any) -> list[Any]:
        with wb.connect(seed=7, behavior=now) as api:
            return list(kept.check(behavior, against=api).differences)

    assert differences(right, service) == []
    of_service = differences(right, after)
    of_sandbox = differences(wrong, service)
    assert {(row.whose, row.operation) for row in of_service} >= {("service", operation)}
    assert {row.whose for row in of_service} == {"service"}
    assert {row.whose for row in of_sandbox} == {"sandbox"}
    assert sorted(map(str, differences(wrong, after))) == sorted(map(str, of_sandbox + of_service))


def test_a_corpus_that_compares_nothing_fails(tmp_path: Path) -> None:
    with pytest.raises(UnusableFile, match="not a folder"):
        Corpus(tmp_path / "none").check()
    (tmp_path / "empty").mkdir()
    with pytest.raises(UnusableFile, match="holds no exchange"):
        Corpus(tmp_path / "empty").check()


CALL = {"method": "GET", "url": "https://api.example.com/v1/issuing/tenants/contracts", "status": 200}
ENTRY = {"startedDateTime": "2026-01-01T00:00:00Z", "request": {"method": "GET", "url": CALL["url"], "headers": []},
         "response": {"status": 200, "headers": [], "content": {"text": "[]", "size": 2}}}  # fmt: skip
CURL = """* Connected to api.example.com
> GET /v1/issuing/tenants/contracts HTTP/1.1
> Host: api.example.com
> api-key: k
>
< HTTP/1.1 200 OK
< content-type: application/json
<
[]
* Connection #0 left intact
"""
FORMS: dict[str, tuple[bytes, int, str]] = {
    "no answer.har": (json.dumps({"log": {"entries": [ENTRY, {**ENTRY, "response": None}]}}).encode(), 1, "no answer"),
    "null status.har": (json.dumps({"log": {"entries": [ENTRY, {**ENTRY, "response": {"status": None}}]}}).encode(), 1, "no answer"),
    "status 0.har": (json.dumps({"log": {"entries": [ENTRY, {**ENTRY, "response": {"status": 0}}]}}).encode(), 1, "no answer"),
    "other host.har": (json.dumps({"log": {"entries": [ENTRY, {**ENTRY, "request": {"method": "GET", "url": "https://a.example.org/v1/collect"}}]}}).encode(), 1, "another host"),
    "surrogate.har": (json.dumps({"log": {"entries": [ENTRY, ENTRY]}}).replace('"[]"', '"\\ud83d"', 1).encode(), 1, "not as expected"),
    "no body.har": (json.dumps({"log": {"entries": [{**ENTRY, "response": {"status": 200, "content": {"size": 40}}}]}}).encode(), 1, "left out the body"),
    "nginx.log": (b'{"request": "GET /v1/issuing/tenants/contracts HTTP/1.1", "status": "200"}\n', 1, ""),
    "access.log": (b'192.0.2.1 - - [27/Nov/2026:02:00:00 +0000] "GET /v1/payment-routes HTTP/1.1" 200 2 "-" "curl"\n', 1, ""),
    "curl.txt": (CURL.encode(), 1, ""),
    "deliveries.csv": (b'time,headers,body\n2026-01-01T00:00:00Z,{},"{""resource"": ""card"", ""action"": ""updated"", ""body"": {}}"\n', 1, ""),
    "cut.ndjson": (json.dumps(CALL).encode() + b'\n{"method": "GE', 1, "cut off"),
    "other names.ndjson": (json.dumps(CALL).encode() + b'\n{"verb": "GET", "code": 200}', 1, "--name"),
    "bad status.ndjson": (json.dumps(CALL).encode() + json.dumps({**CALL, "status": "²"}).encode().join([b"\n", b""]), 1, "no answer"),
    "bad headers.ndjson": (json.dumps(CALL).encode() + b"\n" + json.dumps({**CALL, "response_headers": [5]}).encode(), 1, "not as expected"),
}  # fmt: skip


@pytest.mark.parametrize("name", FORMS)
@pytest.mark.parametrize("packed", [False, True], ids=["plain", "packed"])
def test_what_people_have_is_read(name: str, packed: bool, tmp_path: Path) -> None:
    """Files from usual tools are read. Unreadable parts are skipped and counted in the notes."""
    data, count, note = FORMS[name]
    path = tmp_path / (name + ".gz" if packed else name)
    path.write_bytes(gzip.compress(data) if packed else data)
    reading = Reading()

    assert len(list(read_traffic([path], {}, reading))) == count
    assert note in " ".join(reading.notes())
    assert bool(note) == bool(reading.skipped)
    assert len(list(read_traffic([tmp_path], {}, Reading()))) == count


@pytest.mark.parametrize("name", ["C# runs.db", "q1?mode=rwc&z.db", "100%.db"])
def test_a_database_is_read_by_its_name_and_makes_no_file(name: str, tmp_path: Path) -> None:
    with wb.connect(journal=tmp_path / name) as api:
        api.update_user(user_id=api.sandbox.guide()["users"]["approved"][0], is_active=True)
    before = {path.name for path in tmp_path.iterdir()}

    assert wb.learn(tmp_path / name).counts["exchanges"] == 1
    assert {path.name.removesuffix("-wal").removesuffix("-shm") for path in tmp_path.iterdir()} <= before


@pytest.mark.slow
def test_the_commands(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The commands add, learn and check a corpus. `check` ends with 0 without differences, otherwise with 5."""
    files = list(map(str, recorded(BEHAVIOR, tmp_path, parts=("money",))))
    folder, learned = str(tmp_path / "acme"), str(tmp_path / "acme.toml")

    assert main(["corpus", "add", *files, "--to", folder]) == 0
    assert main(["corpus", "learn", folder, "--out", learned]) == 0
    assert main(["corpus", "check", folder, "--behavior", learned]) == 0
    assert main(["corpus", "check", folder]) == 5
    assert "simulate_refund" in capsys.readouterr().out
