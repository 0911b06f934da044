"""A class on one server: isolation of learners, the board, locks and notes, results, and a restart."""

import asyncio
import csv
import io
import json
import re
import socket
import sqlite3
import time
import warnings
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing, suppress
from functools import partial
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import httpx
import pytest

import workbench as wb
from tests.classroom.recorded import record
from tests.each import some
from workbench.base.system.messages import Request
from workbench.course import membership
from workbench.course.classroom import ClassServer, exports
from workbench.course.classroom.class_results import _LETTERS, _WORDS, MAX_LEARNERS, Results, read_roster
from workbench.course.classroom.class_state import ACTIONS, CHOICES, EVENTS, LESSONS, MAX_WRONG_CODES
from workbench.course.classroom.learner_sandboxes import MAX_ENTRIES_A_MINUTE
from workbench.course.task_files import EXERCISES
from workbench.course.task_result import TaskResult
from workbench.sandbox.internals import internals
from workbench.sandbox.server import self_signed

pytestmark = pytest.mark.slow  # each test runs a class server

PURCHASE = {"currency": "USD", "merchantName": "Example Coffee", "merchantCategoryCode": "5814"}


class Caller:
    """A learner who uses plain HTTP."""

    def __init__(self, url: str, code: str) -> None:
        self.url = f"{url}/{code}"
        guide = self.get("_sandbox/guide").json()
        self.guide: dict[str, Any] = guide
        self.key = {"api-key": guide["api_keys"]["full"]}
        self.started: set[str] = set()

    def get(self, path: str) -> httpx.Response:
        return httpx.get(f"{self.url}/{path}")

    def control(self, name: str, /, **arguments: Any) -> Any:
        return httpx.post(f"{self.url}/_sandbox/{name}", json=arguments, headers=self.key).json()

    def buy(self, cents: int) -> str:
        body = {"cardId": self.guide["cards"]["active"][0], "amount": cents, **PURCHASE}
        answer = httpx.post(f"{self.url}/v1/simulate/transactions/authorize", json=body, headers=self.key)
        answer.raise_for_status()
        return str(answer.json()["transactionId"])

    def start(self, exercise: str) -> None:
        """Start an exercise, unless it is already started."""
        if exercise not in self.started:
            httpx.post(f"{self.url}/_class", json={"kind": "start", "task": exercise}).raise_for_status()
            self.started.add(exercise)

    def check(self, exercise: str) -> int:
        return httpx.post(f"{self.url}/_class", json={"kind": "check", "task": exercise}).status_code

    def try_and_check(self, exercise: str) -> int:
        """Make a purchase, and check the exercise."""
        self.start(exercise)
        self.buy(100 + len(self.control("events")))
        return self.check(exercise)


class Trainer:
    """The trainer's requests to the board."""

    def __init__(self, server: ClassServer, url: str) -> None:
        self.url, self.key = url, {"trainer-key": server.trainer_key}

    def board(self) -> dict[str, Any]:
        found: dict[str, Any] = httpx.get(f"{self.url}/board/data", headers=self.key).json()
        return found

    def row(self, learner: str) -> dict[str, Any]:
        found: dict[str, Any] = next(one for one in self.board()["learners"] if one["learner"] == learner)
        return found

    def act(self, learners: Any, action: str, **arguments: Any) -> httpx.Response:
        content = {"learners": learners, "action": action, "arguments": arguments}
        return httpx.post(f"{self.url}/board/act", json=content, headers=self.key)


@pytest.fixture
def server(tmp_path: Path) -> Iterator[ClassServer]:
    made = ClassServer(["Ann", "Bob"], tmp_path / "class of two")
    yield made
    made.close()


@pytest.fixture
def url(server: ClassServer) -> Iterator[str]:
    with server.serve() as url:
        yield url


@pytest.fixture
def ann(server: ClassServer, url: str) -> Caller:
    return Caller(url, server.learners[0].code)


@pytest.fixture
def bob(server: ClassServer, url: str) -> Caller:
    return Caller(url, server.learners[1].code)


@pytest.fixture
def trainer(server: ClassServer, url: str) -> Trainer:
    return Trainer(server, url)


def test_each_learner_has_a_sandbox_of_the_notebooks_seed(ann: Caller, bob: Caller) -> None:
    with wb.connect(seed=7) as own:
        assert ann.guide["cards"] == bob.guide["cards"] == own.sandbox.guide()["cards"]
    assert ann.guide["base_url"] == f"{ann.url}/v1"


def test_a_purchase_moves_one_balance(ann: Caller, bob: Caller) -> None:
    ann.buy(420)

    card = ann.guide["cards"]["active"][0]
    assert ann.control("balance", card_id=card)["held"] == 420
    assert bob.control("balance", card_id=card)["held"] == 0
    assert bob.control("events") == []
    assert bob.control("requests") == []


def test_clock_faults_snapshots_and_reset_are_a_learners_own(ann: Caller, bob: Caller) -> None:
    ann.buy(100)
    bob.buy(200)
    ann.control("snapshot", name="mine")
    ann.control("add_fault", kind="status", of="list_contracts")
    ann.control("advance", days=3)
    before = bob.control("events")
    ann.control("reset")

    assert bob.control("list_faults") == []
    assert bob.control("events") == before != []
    assert bob.control("restore", name="mine")["statusCode"] == 404
    assert ann.control("events") == []


def test_production_is_the_learners_too(ann: Caller, bob: Caller) -> None:
    guide = ann.get("production/_sandbox/guide").json()

    answer = httpx.post(
        f"{ann.url}/production/v1/simulate/transactions/authorize",
        json={},
        headers={"api-key": guide["api_keys"]["full"]},
    )
    assert guide["base_url"] == f"{ann.url}/production/v1"
    assert answer.status_code == 404


def test_a_mistyped_code_is_named(url: str) -> None:
    """The error for a mistyped code says that the link's code is wrong."""
    with pytest.raises(
        wb.errors.WrongEnvironment, match=r'"No learner has the code of this link: .*" .*with its complete URL'
    ):
        wb.connect(f"{url}/olive-42-haron")


def test_wrong_codes_are_counted_and_touch_no_learner(url: str, ann: Caller, trainer: Trainer) -> None:
    answers = [httpx.get(f"{url}/olive-{n}-olive/_sandbox/guide").status_code for n in range(MAX_WRONG_CODES + 3)]

    assert answers == [404] * MAX_WRONG_CODES + [429] * 3
    assert ann.get("_sandbox/guide").status_code == 200
    assert ann.buy(100)
    assert trainer.board()["wrong_codes"] == {"127.0.0.1": MAX_WRONG_CODES + 3}


def test_wrong_codes_of_one_address_are_not_counted_for_another(server: ClassServer) -> None:
    def status(peer: str) -> int:
        wrong = Request("GET", "/olive-2222-2222/_sandbox/guide", peer=peer)
        return asyncio.run(server.handle(wrong)).status

    assert [status("192.0.2.1") for _ in range(MAX_WRONG_CODES + 1)][-2:] == [404, 429]
    assert status("192.0.2.2") == 404


def test_codes_are_too_many_to_be_searched() -> None:
    """At 2,000 codes per second, finding one code of a full class takes more than a year on average."""
    guesses = len(_WORDS) * len(_LETTERS) ** 8 / MAX_LEARNERS / 2

    assert guesses / 2_000 > 365 * 24 * 3600


def test_the_board_needs_the_trainers_key(url: str, ann: Caller) -> None:
    for headers in ({}, {"trainer-key": "x"}, ann.key):
        assert httpx.get(f"{url}/board/data", headers=headers).status_code == 401
        assert httpx.post(f"{url}/board/act", json={}, headers=headers).status_code == 401


def test_the_page_loads_nothing_from_elsewhere(url: str) -> None:
    page = httpx.get(f"{url}/board")

    assert "default-src 'none'" in page.headers["content-security-policy"]
    assert "http" not in page.text
    assert httpx.get(f"{url}/board.js").headers["content-type"] == "text/javascript"


def test_the_board_shows_tries_hints_and_who_is_stuck(ann: Caller, trainer: Trainer) -> None:
    httpx.post(f"{ann.url}/_class", json={"kind": "hint", "task": "breaking-1"})
    for _ in range(3):
        assert ann.try_and_check("breaking-1") == 200

    row = trainer.row("Ann")
    assert row["stuck"] == ["breaking-1"]
    result = row["results"]["breaking-1"]
    assert (result["tries"], result["hints"]) == (3, 1)
    assert "a refund of 5.00 USD that ended with an unknown outcome" in result["last_problem"]
    assert trainer.row("Bob")["results"] == {}


def test_a_forged_report_is_a_score_in_no_form(server: ClassServer, ann: Caller, trainer: Trainer) -> None:
    for exercise in EXERCISES:
        ann.start(exercise)
        ann.buy(100)
        for content in ({"missing": []}, {"missing": [], "confirmed": True, "done": True}):
            body = {"kind": "check", "task": exercise, **content}
            assert httpx.post(f"{ann.url}/_class", json=body).status_code == 200

    row = trainer.row("Ann")
    assert row["results"].keys() == EXERCISES.keys()
    assert [name for name, result in row["results"].items() if result["done"]] == []
    assert row["done"] == 0
    table = list(csv.DictReader(io.StringIO(exports.results_table(server.results))))
    assert {line["done"] for line in table} == {"false"}
    assert "begun_active" not in table[0]
    assert "<li>" not in exports.certificates(server.results)


def test_what_the_server_saw_counts_whatever_a_kernel_reports(ann: Caller, trainer: Trainer) -> None:
    ann.start("start-1")
    body = {"cardId": ann.guide["cards"]["active"][1], "amount": 420, **PURCHASE}
    made = httpx.post(f"{ann.url}/v1/simulate/transactions/authorize", json=body, headers=ann.key).json()
    ann.control("settle", transaction_id=made["transactionId"])
    ann.check("start-1")

    assert trainer.row("Ann")["results"]["start-1"]["done"] is True
    assert trainer.row("Ann")["results"]["start-1"]["last_problem"] == ""


def test_what_a_learner_sends_is_limited(ann: Caller, bob: Caller) -> None:
    hint = {"kind": "hint", "task": "start-1"}
    with httpx.Client() as client:
        statuses = [client.post(f"{ann.url}/_class", json=hint).status_code for _ in range(MAX_ENTRIES_A_MINUTE + 2)]

    assert statuses == [200] * MAX_ENTRIES_A_MINUTE + [429] * 2
    assert httpx.post(f"{bob.url}/_class", json={**hint, "values": 300_000}).status_code == 400
    assert httpx.post(f"{bob.url}/_class", json=hint).status_code == 200


def test_reports_of_other_pages_are_refused(ann: Caller) -> None:
    report = json.dumps({"kind": "hint", "task": "start-1"})
    sent = partial(httpx.post, f"{ann.url}/_class", content=report)

    assert sent(headers={"content-type": "text/plain"}).status_code == 415
    assert sent().status_code == 415
    assert sent(headers={"content-type": "application/json", "origin": "https://example.com"}).status_code == 403
    assert sent(headers={"content-type": "application/json"}).status_code == 200


def test_a_learner_who_fills_the_disk_stops_nobody(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("workbench.course.classroom.learner_sandboxes.MAX_LEARNER_BYTES", 2**20)
    with closing(ClassServer(["Ann", "Bob"], tmp_path)) as server, server.serve() as url:
        ann, bob = (Caller(url, one.code) for one in server.learners)
        for number in range(600):
            made = ann.control("snapshot", name=f"{number}" * 100)
            if made.get("statusCode") == 413:
                break

        assert made["statusCode"] == 413
        assert "reset" in made["message"]
        assert bob.buy(100)
        ann.control("reset")
        assert Caller(url, server.learners[0].code).buy(100)


def test_a_held_file_of_one_learner_makes_no_other_wait(tmp_path: Path) -> None:
    with closing(ClassServer(["Ann", "Bob"], tmp_path)) as server, server.serve() as url:
        ann, bob = (Caller(url, one.code) for one in server.learners)
        ann.buy(100)
        bob.buy(100)
        held = sqlite3.connect(next(tmp_path.glob(f"{server.learners[0].code}-sandbox.db")), isolation_level=None)
        results = sqlite3.connect(tmp_path / "class.db", isolation_level=None)
        with closing(held), closing(results), ThreadPoolExecutor(40) as threads:
            held.execute("BEGIN EXCLUSIVE")
            results.execute("BEGIN IMMEDIATE")
            waiting = [threads.submit(ann.buy, 100) for _ in range(20)]
            waiting += [threads.submit(ann.check, "start-1") for _ in range(20)]
            # wait until Ann has the maximum number of concurrent requests
            while not server._by_name["Ann"]._turns.locked():
                time.sleep(0.01)
            assert bob.buy(100)  # Bob's purchase is answered while Ann's files are still locked
            early = [one for one in waiting if one.done() and one.exception() is None]
            held.execute("ROLLBACK")
            results.execute("ROLLBACK")
            for one in waiting:
                with suppress(httpx.HTTPError):
                    one.result()

    assert early == []


def test_two_servers_do_not_share_a_folder(tmp_path: Path) -> None:
    with ExitStack() as stack:
        first, second = (stack.enter_context(closing(ClassServer(["Ann"], tmp_path))) for _ in range(2))
        stack.enter_context(first.serve())
        with pytest.raises(wb.errors.FileBusy):
            stack.enter_context(second.serve())


def test_the_port_stays(tmp_path: Path) -> None:
    urls = []
    for _ in range(2):
        with closing(ClassServer(["Ann"], tmp_path)) as server, server.serve() as url:
            urls.append(url)
    with ExitStack() as stack:
        server = stack.enter_context(closing(ClassServer((), tmp_path)))
        stack.enter_context(socket.create_server(("127.0.0.1", urlsplit(url).port or 0)))
        with pytest.raises(wb.WorkbenchError, match="cannot be used"):
            stack.enter_context(server.serve())

    assert urls[0] == urls[1]


def test_a_late_learner_joins_while_the_class_is_served(tmp_path: Path) -> None:
    with closing(ClassServer(["Ann"], tmp_path)) as server, server.serve() as url:
        # a second connection to the database, as a command opens one
        with closing(Results(tmp_path / "class.db")) as elsewhere:
            late = elsewhere.enroll_late("Late")
        other = Trainer(server, url).act("all", "enroll", name="Later").json()["done"]["Later"].rpartition("/")[2]

        assert Caller(url, late.code).buy(100)
        assert Caller(url, other).buy(100)
        assert [row["learner"] for row in Trainer(server, url).board()["learners"]] == ["Ann", "Late", "Later"]
        assert Trainer(server, url).act("all", "enroll", name="Late").status_code == 400


def test_a_learner_with_work_has_joined_after_a_restart(tmp_path: Path) -> None:
    with closing(ClassServer(["Ann", "Bob"], tmp_path)) as server, server.serve() as url:
        Caller(url, server.learners[0].code).buy(100)
    with closing(ClassServer((), tmp_path)) as server:
        ann, bob = server.board()["learners"]

    assert ann["seen"] is not None
    assert bob["seen"] is None


def test_the_trainers_actions_go_past_faults(ann: Caller, bob: Caller, trainer: Trainer) -> None:
    trainer.act("all", "add_fault", kind="status", times=5)
    pushed = trainer.act("all", "event", event="a purchase of 12.50 USD (transaction.created)").json()

    assert (list(pushed["done"]), pushed["failed"]) == (["Ann", "Bob"], {})
    assert [one["payload"]["action"] for one in bob.control("events")][-1] == "created"


def test_an_action_that_fails_for_one_is_done_for_the_others(ann: Caller, bob: Caller, trainer: Trainer) -> None:
    for one in ann.guide["users"]["manualReview"]:
        ann.control("review", user_or_owner_id=one, status="approved")
    assert "manualReview" not in ann.get("_sandbox/guide").json()["users"]
    answer = trainer.act("all", "event", event="a denied application (user.updated)").json()

    assert list(answer["done"]) == ["Bob"]
    assert "manualReview" in answer["failed"]["Ann"]


def test_a_pause_stops_effects_of_all_until_it_ends(ann: Caller, bob: Caller, trainer: Trainer) -> None:
    trainer.act("all", "pause")
    body = {"cardId": ann.guide["cards"]["active"][0], "amount": 100, **PURCHASE}
    refused = httpx.post(f"{ann.url}/v1/simulate/transactions/authorize", json=body, headers=ann.key)

    assert (refused.status_code, refused.json()["message"]) == (403, "The class is paused by your trainer")
    assert trainer.board()["paused"]
    assert ann.get("_class").status_code == 200
    assert ann.control("guide")["cards"]
    assert ann.control("balance", card_id=body["cardId"])["held"] == 0
    assert "paused" in ann.control("deposit", amount="1.00")["message"]
    trainer.act("all", "resume")
    assert bob.buy(100)


def test_a_note_is_shown_below_the_next_check_task_or_hint(server: ClassServer, url: str, trainer: Trainer) -> None:
    with wb.connect(f"{url}/{server.learners[0].code}") as api:
        wb.course.task("start-1", api)
        trainer.act(["Ann"], "note", text="Look at the guide")
        first, second = wb.course.check("start-1", api), wb.course.check("start-1", api)
        trainer.act(["Ann"], "note", text="And at the cards")
        hint = wb.course.hint("start-1")

    assert "Note from your trainer: Look at the guide" in str(first)
    assert "Note from your trainer" not in str(second)
    assert "Note from your trainer: And at the cards" in str(hint)


@pytest.mark.parametrize(
    "content",
    [
        {},
        {"kind": "check", "task": "nothing", "missing": []},
        {"kind": "x"},
        [],
        {"kind": "hint", "task": "start-1", "values": "x"},
    ],
)
def test_an_entry_that_cannot_be_read_is_refused(ann: Caller, content: Any) -> None:
    assert httpx.post(f"{ann.url}/_class", json=content).status_code == 400


def test_the_trainer_acts_on_one_or_all(ann: Caller, bob: Caller, trainer: Trainer) -> None:
    assert trainer.act(["Ann"], "add_fault", kind="lost", times=2).json()["done"].keys() == {"Ann"}
    assert trainer.act("all", "deposit", amount="0.45").status_code == 200
    assert trainer.act("all", "add_fault", kind="nothing").json()["failed"].keys() == {"Ann", "Bob"}

    assert len(ann.control("list_faults")) == 1
    assert bob.control("list_faults") == []
    assert [one["payload"]["resource"] for one in bob.control("events")] == ["microDeposit"]


def test_notes_and_locks_reach_the_learner(ann: Caller, bob: Caller, trainer: Trainer) -> None:
    trainer.act(["Ann"], "note", text="<b>well done</b>")
    trainer.act("all", "lock", lesson="12-withdraw-collateral")
    trainer.act("all", "lock", lesson="13-go-to-production")
    trainer.act("all", "unlock", lesson="13-go-to-production")

    status = ann.get("_class").json()
    assert status["notes"] == ["<b>well done</b>"]
    assert trainer.board()["locked"] == ["12-withdraw-collateral"]
    assert bob.get("_class").json()["notes"] == []


def test_an_unknown_task_is_named(ann: Caller) -> None:
    """A learner's misspelled name of a task gets the closest name, and no failure to read the request."""
    problem = httpx.post(f"{ann.url}/_class", json={"kind": "start", "task": "start-l"}).json()["message"]

    assert "task must be one of" in problem
    assert "did you mean start-1?" in problem


def test_a_cell_of_the_results_never_becomes_a_formula(server: ClassServer, ann: Caller) -> None:
    record(server.results, "Ann", TaskResult(task="breaking-1", last_problem="=1+1"))

    assert "'=1+1" in exports.results_table(server.results)


def test_a_server_that_is_started_again_continues(tmp_path: Path) -> None:
    first = ClassServer(["Ann", "Bob"], tmp_path)
    with first.serve() as url:
        ann = Caller(url, first.learners[0].code)
        ann.start("start-1")
        ann.buy(420)
        ann.check("start-1")
    first.close()

    again = ClassServer(["Ann", "Cem"], tmp_path)
    with again.serve() as url:
        codes = {one.name: one.code for one in again.learners}
        same = Caller(url, codes["Ann"])
        assert codes["Ann"] == first.learners[0].code
        assert list(codes) == ["Ann", "Bob", "Cem"]
        assert same.control("balance", card_id=same.guide["cards"]["active"][0])["held"] == 420
        assert again.board()["learners"][0]["results"]["start-1"]["tries"] == 1
    again.close()


def test_a_roster_is_a_number_or_a_file(tmp_path: Path) -> None:
    file = tmp_path / "roster.csv"
    file.write_text("name,group\nAnn,1\nBob,2\n\n", encoding="utf-8")

    assert read_roster(file) == ["Ann", "Bob"]
    assert read_roster("3") == ["Learner 1", "Learner 2", "Learner 3"]


@pytest.mark.parametrize("text", ["", "Ann\nAnn\n", "A\x1b[2J\n", "\n".join(map(str, range(300)))])
def test_a_roster_that_cannot_be_used_is_refused(tmp_path: Path, text: str) -> None:
    file = tmp_path / "roster.csv"
    file.write_text(text, encoding="utf-8")

    with pytest.raises(wb.errors.UsageError, match="learners"):
        read_roster(file)


def test_codes_are_shown_by_no_repr(tmp_path: Path) -> None:
    results = Results(tmp_path / "class.db")
    learner = results.enroll(["Ann"])[0]
    results.close()

    assert learner.code not in repr(learner)
    assert json.dumps(learner.code)


def test_learners_are_listed_by_name_and_number(tmp_path: Path) -> None:
    server = ClassServer(read_roster("12"), tmp_path)

    assert [one.name for one in server.learners][:3] == ["Learner 1", "Learner 2", "Learner 3"]
    assert server.learners[-1].name == "Learner 12"
    server.close()


@pytest.mark.parametrize("event", some(3, EVENTS))
def test_each_event_of_the_board_is_sent(server: ClassServer, event: str) -> None:
    server.act(["Ann"], "event", event=event)
    ann, bob = (server.act([name], "events")["done"][name] for name in ("Ann", "Bob"))

    kind = re.search(r"\((\w+\.\w+)\)", event)
    assert kind
    payloads = [one["payload"] for one in ann]
    assert [payload for payload in payloads if f"{payload['resource']}.{payload['action']}" == kind[1]]
    assert bob == []


def test_every_action_of_the_board_works(server: ClassServer) -> None:
    for action, about in ACTIONS.items():
        fields = {field["name"]: field for field in about.get("fields", ())}
        first = {
            name: CHOICES[field["choices"]][0] if "choices" in field else field.get("value", "")
            for name, field in fields.items()
        }
        numbers = {name for name, field in fields.items() if field.get("kind") == "number"}
        first |= {"name": "Cem"} if action == "enroll" else {}
        given = {name: int(value) if name in numbers else value for name, value in first.items() if value}
        assert not server.act(["Ann", "Bob"], action, **({"text": "hello"} if action == "note" else given))["failed"]

    assert server.results.notes("Bob") == ["hello"]


def test_a_locked_lesson_takes_no_reports(ann: Caller, trainer: Trainer) -> None:
    ann.start("start-1")
    trainer.act("all", "lock", lesson=LESSONS[0])

    assert ann.check("start-1") == 400
    trainer.act("all", "unlock", lesson=LESSONS[0])
    assert ann.check("start-1") == 200


def test_minutes_count_from_the_task_and_the_last_hint_is_counted(ann: Caller, trainer: Trainer) -> None:
    httpx.post(f"{ann.url}/_class", json={"kind": "start", "task": "start-1"})
    begun = trainer.row("Ann")["results"]["start-1"]
    httpx.post(f"{ann.url}/_class", json={"kind": "hint", "task": "start-1"})
    shown = trainer.row("Ann")["results"]["start-1"]

    assert (begun["tries"], begun["minutes"], begun["last_hint"]) == (0, 0.0, False)
    assert (shown["hints"], shown["last_hint"]) == (1, False)


def test_drills_are_on_the_board(
    server: ClassServer, url: str, trainer: Trainer, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("WORKBENCH_STATE", str(tmp_path))
    assert not [one for one in trainer.board()["tasks"] if one["lesson"] == "drills"]
    with wb.connect(f"{url}/{server.learners[0].code}") as api:
        wb.course.task("cut-rewards", api)
        for count in (1, 2):
            wb.course.answer("cut-rewards", items=count)
            wb.course.check("cut-rewards")

    result = trainer.row("Ann")["results"]["cut-rewards"]
    assert "items is not 2" in result["last_problem"]
    assert result["tries"] == 2
    assert [one["id"] for one in trainer.board()["tasks"] if one["lesson"] == "drills"] == ["cut-rewards"]
    assert trainer.row("Bob")["results"] == {}


def test_no_face_of_a_class_shows_private_values(server: ClassServer, url: str, tmp_path: Path) -> None:
    planted = {"first_name": "Canaria", "email": "canary@example.com", "phone_number": "5550199"}
    with wb.connect(f"{url}/{server.learners[0].code}") as api:
        user = api.sandbox.guide()["users"]["approved"][0]
        api.update_user(user_id=user, phone_country_code="1", **planted)
        for exercise in ("people-1", "applications-1", "disputes-1"):
            wb.course.task(exercise, api)
            wb.course.check(exercise, api)
        wb.course.hint("start-1", api)
        keys = api.sandbox.guide()["api_keys"].values()
    secrets = [*planted.values(), *keys, *(one.code for one in server.learners), server.trainer_key]
    shown = [json.dumps(server.board()), repr(server.learners)]
    shown += [exports.results_table(server.results), exports.certificates(server.results)]

    assert [(value, number) for number, text in enumerate(shown) for value in secrets if value in text] == []


def test_pages_to_print_need_the_trainers_key(server: ClassServer, ann: Caller, trainer: Trainer) -> None:
    record(server.results, "Ann", TaskResult(task="breaking-1", done=True))
    server.results.set("trainer", "Ada <b>")
    page = httpx.get(f"{trainer.url}/board/certificates", headers=trainer.key)

    assert "Ada &lt;b&gt;" in page.text
    assert "<style" not in page.text
    assert httpx.get(f"{trainer.url}/board/certificates").status_code == 401
    assert httpx.get(f"{trainer.url}/board/certificates", headers=ann.key).status_code == 401
    assert httpx.get(f"{trainer.url}/board/csv", headers=trainer.key).status_code == 404


def test_nothing_of_a_class_reaches_a_real_service(
    server: ClassServer, url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings = {"base_url": "https://api.example.com/v1", "api_key": "k" * 20, "journal": tmp_path / "journal.db"}
    with wb.connect(f"{url}/{server.learners[0].code}") as api, wb.Client(**settings, environment="production") as real:
        assert api.list_contracts()
        monkeypatch.setenv("WORKBENCH_READONLY", "0")
        with pytest.raises(wb.errors.UsageError, match="nothing can be armed"):
            real.arm(operations={"update_user"}, minutes=1, reason="a lesson")
        with pytest.raises(wb.errors.NotArmed, match="this is a class"):
            real.update_user(user_id="00000000-0000-4000-8000-000000000000", is_active=True)
    with wb.connect(f"{url}/{server.learners[0].code}/production") as mine:
        mine.arm(operations={"update_user"}, minutes=1, reason="a lesson")
        mine.update_user(user_id=mine.sandbox.guide()["users"]["approved"][0], is_active=True)


def test_keys_are_a_learners_own(ann: Caller, bob: Caller) -> None:
    with wb.connect(seed=7) as own:
        assert len({ann.key["api-key"], bob.key["api-key"], own.sandbox.full_key}) == 3

    crossed = httpx.post(f"{ann.url}/_sandbox/reset", json={}, headers=bob.key)
    assert crossed.status_code == 401


def test_a_class_is_joined_over_tls(server: ClassServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    certificate, key = tmp_path / "class-tls.crt", tmp_path / "class-tls.key"
    self_signed(certificate, key, ["127.0.0.1"])
    with server.serve(certfile=certificate, keyfile=key) as url:
        assert url.startswith("https://")
        code = server.learners[0].code
        with wb.connect(f"{url}/{code}", ca_file=certificate) as api:
            assert membership.ask(f"{url}/{code}", str(certificate))["learner"] == "Ann"
            assert api.list_contracts()
        with pytest.raises(wb.WorkbenchError):
            wb.connect(f"{url}/{code}")
        monkeypatch.setenv("WORKBENCH_CLASS", f"{url}/{code}")
        monkeypatch.setenv("WORKBENCH_CLASS_CA", str(certificate))
        with wb.connect(seed=7) as api:
            assert internals(api.sandbox).hosted
            assert api.list_contracts()


def test_a_class_for_others_does_not_send_webhooks_to_its_own_machine(server: ClassServer) -> None:
    with ExitStack() as stack:
        warned = stack.enter_context(warnings.catch_warnings(record=True))
        warnings.simplefilter("always")
        inbox = wb.Inbox(keys=["k" * 20])
        receiver = stack.enter_context(inbox.serve())
        url = stack.enter_context(server.serve("0.0.0.0", hosts=["class.example"]))
        port = url.rpartition(":")[2]
        place = f"http://127.0.0.1:{port}/{server.learners[0].code}/_sandbox"
        headers = {"host": f"class.example:{port}"}
        guide = httpx.get(f"{place}/guide", headers=headers).json()
        key = {"api-key": guide["api_keys"]["full"], **headers}
        httpx.post(f"{place}/register_endpoint", json={"endpoint_url": receiver}, headers=key)
        httpx.post(f"{place}/deposit", json={"amount": "0.45"}, headers=key)
        httpx.post(f"{place}/flush", json={}, headers=key)
        delivered = httpx.post(f"{place}/deliveries", json={}, headers=key).json()
        elsewhere = httpx.post(f"{place}/register_endpoint", json={"endpoint_url": "http://10.0.0.1/"}, headers=key)

    assert delivered[0]["attempts"][0]["error"] == "no process that registered this URL is connected"
    assert not inbox.refusals
    assert elsewhere.status_code == 400
    assert any("without TLS" in str(one.message) for one in warned)
