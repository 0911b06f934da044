"""Each notebook and drill has a separate sandbox in a class, and the board shows their true state."""

import asyncio
import json
import os
import re
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import httpx
import pytest

import workbench as wb
from tests.classroom.recorded import record
from workbench.base.errors import ApiError, UnusableFile, UsageError
from workbench.base.system.messages import Request, Response
from workbench.course import membership
from workbench.course.classroom import ClassServer, class_state, exports, learner_sandboxes
from workbench.course.classroom.class_results import Learner, read_roster
from workbench.course.classroom.learner_sandboxes import MAX_OPEN, LearnerSandboxes
from workbench.course.task_files import EXERCISES, read_file
from workbench.course.task_result import TaskResult
from workbench.sandbox.internals import internals

pytestmark = pytest.mark.slow  # each test runs a class server

TASK = """
title = "A lost card"
notebook = "02-simulate-purchases"
task = "Lock the first active card."
answer = "api.sandbox.cards.lock(guide['cards']['active'][0])"

[[expect]]
equals = "card"
that = "the first active card, locked"
where = { id = "$cards.active.0" }
with = { status = "locked" }
"""


@pytest.fixture
def server(tmp_path: Path) -> Iterator[ClassServer]:
    (tmp_path / "class" / "tasks").mkdir(parents=True)
    (tmp_path / "class" / "tasks" / "lost-card.toml").write_text(TASK)
    made = ClassServer(["Ann", "Bob"], tmp_path / "class")
    yield made
    made.close()


@pytest.fixture
def ann(server: ClassServer, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[str]:
    """Yield the class URL of the learner Ann, with this process set up as hers."""
    monkeypatch.setenv("WORKBENCH_STATE", str(tmp_path / "state"))
    monkeypatch.setattr(membership, "_places", [])
    with server.serve() as url:
        address = f"{url}/{server.learners[0].code}"
        monkeypatch.setenv("WORKBENCH_CLASS", address)
        yield address


def first_cell(place: str, **given: Any) -> wb.Session:
    wb.course.begin(place)
    return wb.connect(seed=7, **given)


def buy(api: Any, cents: int = 420) -> str:
    card = api.sandbox.guide()["cards"]["active"][0]
    bought = api.allowing(again=True).simulate_authorization(
        card_id=card, amount=cents, currency="USD", merchant_name="Example Coffee", merchant_category_code="5814"
    )
    return str(bought.transaction_id)


def row(server: ClassServer, name: str = "Ann") -> dict[str, Any]:
    found: dict[str, Any] = next(each for each in server.board()["learners"] if each["learner"] == name)
    return found


def test_two_notebooks_and_a_drill_leave_each_other_alone(server: ClassServer, ann: str) -> None:
    with first_cell("02") as two, first_cell("03") as three, first_cell("fraud-burst") as drill:
        bought = buy(two)
        three.sandbox.add_fault("status", of="list_contracts")
        facts = wb.course.task("fraud-burst", drill).facts
        with first_cell("03") as again:
            kept = two.sandbox.state(bought)["held"], drill.sandbox.state(facts["card"])["status"]
            faults = again.sandbox.list_faults()

    assert kept == (420, "active")
    assert faults == []
    assert set(row(server)["places"]) == {"02", "03", "fraud-burst"}


def test_a_kernel_whose_sandbox_was_begun_again_says_so(server: ClassServer, ann: str) -> None:
    with first_cell("02") as before, first_cell("02"):
        with pytest.raises(ApiError, match=r"begun again at \d\d:\d\d:\d\d UTC.*first cell"):
            before.list_contracts()
        with pytest.raises(UsageError, match="begun again"):
            wb.course.check("purchases-1", before)


def test_rules_and_locks_for_all_hold_for_new_places_and_latecomers(server: ClassServer, ann: str) -> None:
    with first_cell("02"):
        server.act(["Ann", "Bob"], "add_fault", kind="latency", of="list_contracts")
        server.act(["Ann", "Bob"], "lock", lesson=EXERCISES["purchases-1"].notebook)
    late = server.act([], "enroll", name="Late")["done"]["Late"]
    with wb.connect(late) as late_api, first_cell("05") as five:
        rules = [len(api.sandbox.list_faults()) for api in (late_api, five)]
        with pytest.raises(UsageError, match="locked by your trainer"):
            wb.course.task("purchases-1", late_api)
    server.act(["Ann", "Bob", "Late"], "clear_faults")
    with first_cell("06") as six:
        assert six.sandbox.list_faults() == []

    assert rules == [1, 1]


def test_what_the_trainer_does_is_neither_a_solution_nor_a_mistake(server: ClassServer, ann: str) -> None:
    with first_cell("03") as api:
        wb.course.task("webhooks-1", api)
        server.act(["Ann"], "event", event="a micro deposit of 0.45 USD (microDeposit.received)")
        pushed = api.inbox.wait("microDeposit.received", timeout=10)
        wb.course.answer("webhooks-1", event=pushed.id)
        by_the_trainer = wb.course.check("webhooks-1").ok
        server.act(["Ann"], "event", event="a settled purchase (transaction.completed)")
        api.sandbox.deposit(amount="0.45")
        own = api.inbox.wait("microDeposit.received", lambda event: event.id != pushed.id, timeout=10)
        wb.course.answer("webhooks-1", event=own.id)

        assert not by_the_trainer
        assert wb.course.check("webhooks-1").missing == ()


PURCHASE_TASK = """
title = "One purchase"
notebook = "02-simulate-purchases"
task = "Authorize 4.20 USD once, and refund nothing."
also = ["transaction"]

[[expect]]
called = "simulate_authorization"
that = "a purchase of 4.20 USD"
with = { amount = 420, card_id = "$cards.active.0", currency = "USD", merchant_name = { matches = "" }, merchant_category_code = { matches = "" } }

[[expect]]
not_called = "simulate_refund"
that = "no refund"
"""


def test_purchases_that_the_trainer_pushes_are_not_calls_of_the_learner(
    server: ClassServer, ann: str, tmp_path: Path
) -> None:
    """The trainer's purchase neither counts as a try nor meets or breaks a criterion of the task."""
    (tmp_path / "one-purchase.toml").write_text(PURCHASE_TASK)
    server.tasks = {**server.tasks, "one-purchase": read_file(tmp_path / "one-purchase.toml")}
    with first_cell("02") as api:
        wb.course.task("one-purchase", api)
        server.act(["Ann"], "event", event="a refund (transaction.completed)")
        by_the_trainer = wb.course.check("one-purchase").missing
        tries = row(server)["results"]["one-purchase"]["tries"]
        buy(api)

        assert by_the_trainer == ("not there yet: a purchase of 4.20 USD.",)
        assert tries == 0
        assert wb.course.check("one-purchase").missing == ()


def test_requests_of_one_learner_at_the_same_time_are_all_counted(server: ClassServer, ann: str) -> None:
    """No try is lost if two notebooks report at the same time. Each start of a notebook gets a separate sandbox."""

    def ask(place: str, content: dict[str, str]) -> Any:
        return httpx.post(f"{ann}{place}/_class", json=content).raise_for_status().json()

    def begin(_: int) -> str:
        return str(ask("", {"kind": "begin", "task": "05"})["place"])

    def work(place: str) -> None:
        with wb.connect(f"{ann}/{place}") as api:
            ask(f"/{place}", {"kind": "start", "task": "start-1"})
            for cents in range(1, 11):
                buy(api, cents)
                ask(f"/{place}", {"kind": "check", "task": "start-1"})

    with ThreadPoolExecutor(4) as pool:
        places = list(pool.map(begin, range(40)))
        list(pool.map(work, [ask("", {"kind": "begin", "task": name})["place"] for name in ("02", "03")]))

    assert len(set(places)) == 40
    assert row(server)["results"]["start-1"]["tries"] == 20


def test_learners_who_are_added_at_the_same_time_get_their_own_link(server: ClassServer) -> None:
    names = [f"Late {number}" for number in range(20)]
    with ThreadPoolExecutor(4) as pool:
        late = list(pool.map(server.results.enroll_late, names))

    assert [learner.name for learner in late] == names


def test_run_all_of_what_nobody_tried_counts_no_try(server: ClassServer, ann: str) -> None:
    with first_cell("02") as api:
        for _ in range(3):
            wb.course.task("purchases-1", api)
            wb.course.check("purchases-1", api)

    assert row(server)["stuck"] == []
    assert row(server)["results"]["purchases-1"]["tries"] == 0


def test_a_closed_laptop_and_a_pause_are_no_work(
    server: ClassServer, ann: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    clock = time.time()
    monkeypatch.setattr(time, "time", lambda: clock)
    with first_cell("02") as api:
        wb.course.task("purchases-1", api)
        buy(api)
        wb.course.check("purchases-1", api)
        clock += 3_600  # a lunch break of an hour
        api.list_contracts()
        after_lunch = row(server)
        server.act([], "pause")
        for _ in range(12):
            clock += 60
            api.list_contracts()
        server.act([], "resume")
        paused = row(server)
        for _ in range(12):
            clock += 60
            api.list_contracts()

    assert (after_lunch["stuck"], paused["stuck"]) == ([], [])
    assert row(server)["stuck"] == ["purchases-1"]


def test_who_did_not_join_did_not_join_after_the_trainers_action(server: ClassServer, ann: str) -> None:
    server.act(["Ann", "Bob"], "event", event="a purchase of 12.50 USD (transaction.created)")

    assert row(server, "Bob")["seen"] is None
    with first_cell("02"):
        assert row(server)["seen"] is not None


def test_a_full_disk_is_said_in_one_sentence(server: ClassServer, ann: str, monkeypatch: pytest.MonkeyPatch) -> None:
    with first_cell("02") as api:
        in_terminal: list[str] = []
        server.say = in_terminal.append
        monkeypatch.setattr(class_state, "MIN_FREE", 2**62)
        said = []
        for act in (
            lambda: buy(api),
            lambda: api.sandbox.deposit(amount="0.45"),
            lambda: wb.course.task("start-1", api),
        ):
            with pytest.raises(wb.WorkbenchError) as refused:
                act()
            said.append(str(refused.value).lower())
        assert api.list_contracts()

    assert all("the disk of the class server is full: nothing was changed" in text for text in said)
    assert server.board()["disk_full"] is True
    assert in_terminal == [class_state.DISK_FULL]


def test_progress_is_that_of_the_class(
    server: ClassServer, ann: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    with first_cell("01") as api:
        wb.course.task("start-1", api)
        exec(EXERCISES["start-1"].answer, {"api": api, "guide": api.sandbox.guide()})
        assert wb.course.check("start-1").ok
    monkeypatch.setenv("WORKBENCH_STATE", str(tmp_path / "another laptop"))
    shown = wb.course.progress()

    assert (shown.name, shown.done) == ("Ann", ("start-1",))


def test_a_restarted_server_goes_on(server: ClassServer, ann: str, tmp_path: Path) -> None:
    with first_cell("02") as api:
        wb.course.task("purchases-1", api)
        bought, key = buy(api), api.sandbox.full_key
        address = urlsplit(internals(api.sandbox).url).path
    place = address.rpartition("/")[2]
    server.close()
    with_new = ClassServer((), tmp_path / "class")
    try:
        headers = {"host": "127.0.0.1", "content-type": "application/json", "api-key": key}
        asked = {"path": f"{address}/_sandbox/state", "body": json.dumps({"record_id": bought}).encode()}
        answer = asyncio.run(with_new.handle(Request(method="POST", headers=headers, local=True, **asked)))
        assert json.loads(answer.body)["held"] == 420
        asked |= {"path": f"{address}/_class", "body": b'{"kind": "check", "task": "purchases-1"}'}
        answer = asyncio.run(with_new.handle(Request(method="POST", headers=headers, local=True, **asked)))
        assert json.loads(answer.body)["missing"]
        assert with_new.results.get(f"attempt\nAnn\n{place}\npurchases-1")
    finally:
        with_new.close()


def test_a_trainers_own_task_is_done_in_the_class(server: ClassServer, ann: str) -> None:
    with first_cell("02") as api:
        shown = str(wb.course.task("lost-card", api))
        hint = wb.course.hint("lost-card")
        exec(hint.hints[-1], {"api": api, "guide": api.sandbox.guide()})

        assert "Lock the first active card" in shown
        assert wb.course.check("lost-card").ok
    assert row(server)["results"]["lost-card"]["done"]


def test_a_code_is_read_in_any_case_and_a_link_page_is_not_stored(server: ClassServer, ann: str) -> None:
    base, _, code = ann.rpartition("/")

    assert httpx.get(f"{base}/{code.upper()}/_class").json()["learner"] == "Ann"
    assert httpx.get(f"{base}/{code}").headers["cache-control"] == "no-store"


@pytest.mark.parametrize("digits", [0, 1, 2, 8, 31, 33, 64])
def test_a_fingerprint_has_32_digits(digits: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WORKBENCH_STATE", str(tmp_path))
    link = f"https://127.0.0.1:9/olive-2222-2222#{'0' * digits}"

    with pytest.raises(UsageError, match="32 hexadecimal digits"):
        wb.course.join(link)


@pytest.mark.parametrize(
    "link", ["x" * 100_000, "https://" + "a" * 100_000 + "/b#", "https://[::1/x", "https://u@h/x", ""]
)
def test_a_link_that_is_none_is_refused_shortly(link: str) -> None:
    with pytest.raises(UsageError) as refused:
        wb.course.join(link)

    assert len(str(refused.value)) < 300


def test_a_damaged_membership_does_not_allow_practice_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WORKBENCH_STATE", str(tmp_path))
    for content in ("{", "[]", "[" * 100_000, '{"url": 1}', ""):
        (tmp_path / membership.JOINED).write_text(content)
        with pytest.raises(UnusableFile, match="damaged"):
            wb.connect(seed=7)
    (tmp_path / membership.JOINED).write_text(json.dumps({"url": "http://127.0.0.1:9/x", "ca_file": ""}))
    assert membership.joined()


def test_rosters_have_the_names_that_people_have(tmp_path: Path) -> None:
    names = ["می‌خواهم", "क्‍ष", "👩‍💻 Ada", "Zoë"]
    roster = tmp_path / "roster.csv"
    roster.write_text("name\n" + "\n".join(names) + "\n", encoding="utf-8")

    assert read_roster(roster) == names
    server = ClassServer(names, tmp_path / "class")
    for name in names:
        record(server.results, name, TaskResult(task="start-1", done=True))
    paper = [exports.sheets(dict.fromkeys(names, "link")), exports.certificates(server.results)]
    server.close()
    assert [name for name in names for page in paper if f">{name}</" not in page] == []
    for content in (
        "Vorname;Nachname\nZoë;Groß\nJörg;Käß\n".encode("cp1252"),
        "last name\tfirst name\nGroß\tZoë\nKäß\tJörg\n".encode("utf-16"),
    ):
        roster.write_bytes(content)
        assert read_roster(roster) == ["Zoë Groß", "Jörg Käß"]
    for head in ("First name", "Nachname"):
        roster.write_text(f"{head}\nAda\nBob\n", encoding="utf-8")
        assert read_roster(roster) == ["Ada", "Bob"]
    for bad, said in (("Ann\nBob\nAnn\n", "'Ann'"), ("Ann\nB\x07b\n", "name 2"), ("x" * 130_000, "name 1")):
        roster.write_text(bad, encoding="utf-8")
        with pytest.raises(UsageError, match=said):
            read_roster(roster)


def test_few_files_are_open_however_many_notebooks_were_begun(server: ClassServer, ann: str) -> None:
    bought = {}
    sessions = {place: first_cell(place) for place in ("01", "02", "03", "04", "05", "06", "07")}
    for place, api in sessions.items():
        bought[place] = buy(api)
    for place, api in sessions.items():
        assert api.sandbox.state(bought[place])["held"] == 420
        api.close()

    opened = {Path(link.path).readlink() for link in os.scandir("/proc/self/fd") if Path(link.path).is_symlink()}
    assert 0 < sum(path.name.endswith("-sandbox.db") for path in opened) <= MAX_OPEN + 1


def test_mistakes_of_a_novice_are_named_as_in_an_embedded_sandbox(
    server: ClassServer, ann: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Messages in a class equal those of an embedded sandbox, and name what to type instead."""
    mistakes: dict[str, Callable[[Any], object]] = {
        r"endpoint_url must be text; write `with ... as endpoint_url:`": lambda api: api.sandbox.register_endpoint(
            wb.Inbox(keys=["k" * 20]).serve()
        ),
        r"did you mean merchant_category_code": lambda api: api.simulate_authorization(
            card_id="x", amount=1, currency="USD", merchant_name="Shop", merchantCategoryCode="5814"
        ),
        r"merchant_category_code must": lambda api: api.simulate_authorization(
            card_id=api.sandbox.guide()["cards"]["active"][0],
            amount=1, currency="USD", merchant_name="Shop", merchant_category_code=5814,
        ),
        r"did you mean last_name": lambda api: api.create_user_application(lastName="Example"),
        r"wb\.FULL": lambda api: api.simulate_refund(transaction_id=buy(api)),
        r"no control 'setle'; did you mean settle": lambda api: api.sandbox.setle("x"),
        r"not the record; write its \.id": lambda api: api.sandbox.settle(api.sandbox.create.user()),
    }  # fmt: skip
    with first_cell("02") as api, wb.connect(f"{ann}") as default:
        served = {text: _message(act, api) for text, act in mistakes.items()}
        also = {text: _message(act, default) for text, act in mistakes.items()}
    monkeypatch.delenv("WORKBENCH_CLASS")
    with wb.connect(seed=7) as own:
        embedded = {text: _message(act, own) for text, act in mistakes.items()}

    assert served == also == embedded
    assert [text for text, said in served.items() if not re.search(text, said)] == []
    assert not any("Category" in said.replace("merchantCategoryCode is not", "") for said in served.values())


def _message(act: Callable[[Any], object], api: Any) -> str:
    with pytest.raises((wb.WorkbenchError, AttributeError)) as refused:
        act(api)
    return str(refused.value)


def test_no_sandbox_closes_while_a_request_uses_it(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Requests arrive while another thread closes unused sandboxes."""
    monkeypatch.setattr(learner_sandboxes, "MAX_OPEN", 1)

    class SlowApp:
        def __init__(self, file: str) -> None:
            self.sandbox = wb.Sandbox(7, path=tmp_path / file)
            self.app = internals(self.sandbox).http_app("http://127.0.0.1", True)

        async def handle(self, request: Request) -> Response:
            await asyncio.sleep(0.02)
            return await self.app.handle(request)

    def make(_: object, place: str, environment: str, file: str) -> Any:
        return SlowApp(file)

    sandboxes = LearnerSandboxes(Learner("Ann", "ann"), make, tmp_path, ({}, 0, 0))
    places = [sandboxes.begin("02"), sandboxes.begin("03")]

    def request(place: str) -> Request:
        headers = {"api-key": sandboxes.sandbox(place).full_key}
        return Request(method="GET", path="/v1/issuing/tenants/contracts", headers=headers)

    requests = {place: request(place) for place in places}

    class Slow(Counter[tuple[str, str]]):
        def __getitem__(self, key: tuple[str, str]) -> int:
            number = super().__getitem__(key)
            if threading.current_thread() is closing:
                time.sleep(0.005)
            return number

    monkeypatch.setattr(sandboxes, "_in_use", Slow())
    ended = threading.Event()

    def close() -> None:
        while not ended.is_set():
            sandboxes.close_unused()

    async def ask() -> list[int]:
        return [(await sandboxes.handle(requests[place], place, "sandbox")).status for place in places * 10]

    closing = threading.Thread(target=close)
    closing.start()
    try:
        assert asyncio.run(ask()) == [200] * 20
    finally:
        ended.set()
        closing.join()
        sandboxes.close()


def test_two_windows_of_the_board_lose_no_rule_and_no_lock(
    server: ClassServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    stored = server.results.get

    def slow(*words: Any) -> Any:
        found = stored(*words)
        time.sleep(0.01)
        return found

    monkeypatch.setattr(server.results, "get", slow)
    lessons, delays = class_state.LESSONS[:4], (1, 2, 3, 4)
    with ThreadPoolExecutor(8) as windows:
        acts = [windows.submit(server.act, [], "lock", lesson=lesson) for lesson in lessons]
        everyone = [learner.name for learner in server.learners]
        acts += [windows.submit(server.act, everyone, "add_fault", kind="latency", seconds=n) for n in delays]
        assert not any(act.result()["failed"] for act in acts)
    assert server.locked == sorted(lessons)
    assert sorted(rule["seconds"] for rule in server.results.get("rules")) == [*delays]
