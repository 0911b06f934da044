"""Rewards of many users: complete or marked as incomplete, preserved when stopped, at a common rate."""

import asyncio
import signal
import threading
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any

import httpx
import pandas as pd
import pyarrow.parquet as pq
import pytest

from tests.tables.services import Service, refusal, row, user_id, usual
from workbench.analysis.rewards import reading as reads
from workbench.analysis.rewards.read_job import Gate
from workbench.analysis.rewards.read_result import Rewards
from workbench.base.errors import Forbidden, InvalidRequest, NoAnswer, ServiceFailure, UnexpectedAnswer, UsageError
from workbench.base.system.progress import Progress
from workbench.client.calls.base import context_of
from workbench.client.calls.client import Client
from workbench.client.calls.pace import Clock


def read(service: Service, **how: Any) -> Rewards:
    users = how.pop("users", list(service.rows))
    made: Rewards = reads.fetch(service.client(), users, progress=False, **how)
    return made


class Quick(Clock):
    """A clock that advances at once by the time that is waited for."""

    def __init__(self) -> None:
        self.at = 0.0
        self.waited: list[float] = []

    def monotonic(self) -> float:
        return self.at

    async def asleep(self, seconds: float) -> None:
        self.at += seconds
        self.waited.append(seconds)
        await asyncio.sleep(0)


def test_all_rows_of_all_users() -> None:
    """Each row is read once and typed, with users in the requested order."""
    service = Service(usual(5, 150))
    rewards = read(service)
    frame = rewards.frame()

    assert frame["id"].tolist() == [one["id"] for rows in service.rows.values() for one in rows]
    assert frame["user_id"].tolist() == [user for user, rows in service.rows.items() for _ in rows]
    assert str(frame["points"].dtype) == "decimal128(18, 6)[pyarrow]"
    assert rewards.complete
    assert frame.attrs["complete"] is True
    assert "750 rows, complete" in repr(rewards)


def test_an_async_client_is_awaited() -> None:
    """An async client reads the same rows."""
    service = Service(usual(2, 30))
    rewards = asyncio.run(reads.fetch(service.async_client(), list(service.rows), progress=False))

    assert len(rewards.frame()) == 60


def test_it_works_where_a_loop_runs_already() -> None:
    """The read works while an event loop is running, as in a notebook."""

    async def cell() -> Rewards:
        return read(Service(usual(1, 5)))

    assert asyncio.run(cell()).complete


def test_users_may_be_given_in_many_ways() -> None:
    """Users can be an id, a list or a frame. Each user is read once."""
    service = Service(usual(2, 3))
    first, second = service.rows
    frame = pd.DataFrame({"user_id": [first, second, first]})

    assert read(service, users=frame).users == (first, second)
    assert read(service, users=first).users == (first,)
    assert len(read(service, users=[]).frame()) == 0


@pytest.mark.parametrize(
    "how", [{"users": ["../x"]}, {"type": "burned"}, {"since": datetime(2026, 1, 1)}, {"until": "soon"}, {"concurrency": 0}],  # noqa: DTZ001
    ids=["user", "type", "zone", "day", "concurrency"],
)  # fmt: skip
def test_wrong_questions_are_not_sent(how: dict[str, Any]) -> None:
    """Invalid arguments are refused before a request is sent."""
    service = Service(usual(1, 1))

    with pytest.raises((InvalidRequest, UsageError)):
        read(service, **how)
    assert service.asked == []


def test_rows_are_kept_by_type_and_time() -> None:
    """The service filters by `type`, and the client by `since` and `until`."""
    service = Service(usual(1, 30))
    since, until = datetime(2026, 1, 5, tzinfo=UTC), datetime(2026, 1, 8, tzinfo=UTC)
    frame = read(service, type="earned", since=since, until=until).frame()

    assert set(frame["type"]) == {"earned"}
    assert sorted(set(frame["created_at"].dt.day)) == [5, 7]
    assert {query["type"] for query in service.asked} == {"earned"}
    assert len(read(service, type="earned", since="2026-01-05", until=date(2026, 1, 8)).frame()) == len(frame)


def test_a_type_that_is_ignored_is_noticed() -> None:
    """If the service ignores `type`, other rows are left out and the read is not complete."""
    rewards = read(Service(usual(1, 30), ignores=["type"]), type="earned")

    assert set(rewards.frame()["type"]) == {"earned"}
    assert not rewards.complete
    assert any("ignore the type parameter (name: type, assumed): 10 rows" in note for note in rewards.notes)


def test_an_offset_that_is_ignored_is_noticed() -> None:
    """If the service ignores `offset`, the first page is returned with a note after at most three requests."""
    service = Service(usual(1, 250), ignores=["offset"])
    rewards = read(service)

    assert len(rewards.frame()) == 100
    assert len(service.asked) <= 3
    assert not rewards.complete
    assert any("ignore the offset parameter (name: offset, assumed)" in note for note in rewards.notes)


def test_a_limit_that_is_ignored_is_noticed() -> None:
    """If the service ignores `limit`, all rows are read, and a note has the page length."""
    rewards = read(Service(usual(1, 90), ignores=["limit"]))

    assert len(rewards.frame()) == 90
    assert rewards.complete
    assert any("ignore the limit parameter" in note and "20 rows a page" in note for note in rewards.notes)


def test_a_user_parameter_that_is_ignored_is_noticed() -> None:
    """Two users with the same rows show that the service ignores the user parameter."""
    rows = [row(i) for i in range(5)]
    rewards = read(Service({user_id(1): rows, user_id(2): rows}))

    assert not rewards.complete
    assert rewards.notes[0].startswith("The service seems to ignore the user parameter (name: userId, assumed)")


@pytest.fixture
def short_reach(monkeypatch: pytest.MonkeyPatch) -> None:
    """Set the largest offset to 200."""
    monkeypatch.setattr("workbench.analysis.rewards.pages.MAX_OFFSET", 200)


@pytest.mark.usefixtures("short_reach")
def test_beyond_the_offset_each_type_is_read_by_itself(tmp_path: Path) -> None:
    """A list beyond the largest offset is also read by type, which completes it. A note says so."""
    many = [row(i, type="earned" if i % 2 else "redeemed") for i in range(310)]
    service = Service({user_id(0): many, user_id(1): [row(i + 1_000) for i in range(50)]})
    rewards = read(service)

    assert sorted(rewards.frame()["id"]) == sorted(one["id"] for rows in service.rows.values() for one in rows)
    assert rewards.complete
    assert any(f"each type was also read separately for user {user_id(0)}" in note for note in rewards.notes)
    pd.testing.assert_frame_equal(rewards.frame(), read(service, path=tmp_path / "r").frame())
    assert read(service, path=tmp_path / "r").notes == rewards.notes


@pytest.mark.usefixtures("short_reach")
@pytest.mark.parametrize("why", ["too many", "unknown type", "type ignored"])
def test_the_reach_is_noticed(why: str) -> None:
    """If reading by type does not reach all rows, those that were read are returned as incomplete."""
    rows = [row(i, **({"type": "lent"} if why == "unknown type" and i == 5 else {})) for i in range(900)]
    rows = rows if why == "too many" else rows[:400]
    service = Service({user_id(0): rows}, ignores=["type"] if why == "type ignored" else [])
    rewards = read(service)

    assert len(rewards.frame()) == {"too many": 600, "unknown type": 400, "type ignored": 300}[why]
    assert rewards.frame()["id"].is_unique
    assert not rewards.complete
    assert rewards.notes[0].startswith("The offset ends at 10,000")


def test_rows_that_move_are_read_again() -> None:
    """If a row is inserted during the read, the list is read again, which a note says."""
    service = Service({user_id(0): [row(i) for i in range(250)]})

    def insert(_: dict[str, str], call: int) -> None:
        if call == 2:
            service.rows[user_id(0)].insert(0, row(9_999))

    service.before = insert
    rewards = read(service)

    assert sorted(rewards.frame()["id"]) == sorted(one["id"] for one in service.rows[user_id(0)])
    assert rewards.complete
    assert any("was read again" in note for note in rewards.notes)


def test_ids_in_both_types_and_rows_without_id() -> None:
    """Repeated ids of one type count once, equal ids of two types twice. Rows without an id are counted."""
    rows = [row(1, type="earned"), row(1, type="redeemed"), row(1, type="earned"), row(2, id=None), row(2, id=None)]
    rewards = read(Service({user_id(0): rows}))

    assert rewards.frame()["id"].isna().tolist() == [False, False, True, True]
    assert any(note.startswith("2 rows have no id") for note in rewards.notes)
    assert any(note.startswith("Repeated rows that were received and removed: 1.") for note in rewards.notes)


@pytest.mark.parametrize("items", [b'{"items":null}', b"{}", b'{"items":{}}', b"[]"], ids=str)
def test_pages_without_items_are_no_pages(items: bytes) -> None:
    """A page without a list of items is an error, not an empty page."""
    service = Service(usual(1, 5), before=lambda query, call: httpx.Response(200, content=items))

    with pytest.raises(UnexpectedAnswer, match="of the rewards activity cannot be read"):
        read(service)


def test_a_row_of_the_wrong_type_costs_its_user_alone() -> None:
    """Other users are read. A note names the user and the member."""
    service = Service({user_id(0): [row(1)], user_id(1): [row(2, transactionAmountCents="5")], user_id(2): [row(3)]})
    rewards = read(service)

    assert rewards.frame()["id"].tolist() == ["r1", "r3"]
    assert [user for user, cursor in rewards.cursors.items() if cursor.end == "failed"] == [user_id(1)]
    assert any("transactionAmountCents must be a whole number" in note for note in rewards.notes)


def failing(offset: str, answer: Any) -> Any:
    return lambda query, call: answer() if query["offset"] == offset else None


def test_a_failure_keeps_what_was_read() -> None:
    """If a page fails, the error has the rows read so far, and `resume` reads the user again."""
    service = Service({user_id(0): [row(i) for i in range(700)]}, before=failing("297", lambda: refusal(500, "E", "e")))
    client = quick_client(service)

    with pytest.raises(ServiceFailure) as caught:
        reads.fetch(client, [user_id(0)], progress=False)
    partial: Rewards = caught.value.partial  # type: ignore[attr-defined]
    assert len(partial.frame()) == 298
    assert not partial.complete
    assert any("stopped at offset 297" in note for note in partial.notes)

    service.before = lambda query, call: None
    rewards = reads.fetch(client, [user_id(0)], progress=False, resume=partial)
    assert rewards.frame()["id"].tolist() == [f"r{i}" for i in range(700)]
    assert rewards.complete


def quick_client(service: Service) -> Client:
    transport = httpx.MockTransport(service)
    return Client(base_url="http://127.0.0.1:1/v1", api_key="k", transport=transport, clock=Quick())


def test_a_failed_user_does_not_cost_the_others() -> None:
    """A note names the failed user, and `resume` reads only this user."""
    users = usual(4, 30)
    service = Service(users, before=lambda q, _: refusal(500, "E", "e") if q["userId"] == user_id(2) else None)
    client = quick_client(service)
    first = reads.fetch(client, list(users), progress=False)
    assert any(note.startswith(f"User {user_id(2)}: stopped at offset 0") for note in first.notes)
    assert len(first.frame()) == 90

    service.before, service.asked = (lambda query, call: None), []
    second = reads.fetch(client, list(users), progress=False, resume=first)
    assert {query["userId"] for query in service.asked} == {user_id(2)}
    assert second.complete
    assert second.frame()["user_id"].tolist() == [user for user, rows in users.items() for _ in rows]


def test_an_unknown_user_is_said() -> None:
    """A 404 for one user is a note, and the other users are read."""
    service = Service(usual(2, 3))
    rewards = read(service, users=[*service.rows, user_id(99)])

    assert any("User not found" in note for note in rewards.notes)
    assert len(rewards.frame()) == 6


def test_a_refused_key_stops_the_read_at_once() -> None:
    """A 403 ends the read, because it would apply to every user."""
    service = Service(
        usual(50, 3), before=lambda q, call: refusal(403, "ForbiddenError", "Forbidden") if call > 5 else None
    )

    with pytest.raises(Forbidden, match=r"rewards:read"):
        read(service, concurrency=2)
    assert len(service.asked) < 12


def test_a_service_that_is_gone_ends_the_read() -> None:
    """After twenty users in a row without an answer, the read ends."""
    service = Service(usual(200, 3), before=lambda q, call: httpx.ConnectError("gone"))

    with pytest.raises(Exception, match="never left this machine") as caught:
        reads.fetch(quick_client(service), list(service.rows), progress=False, concurrency=4)
    assert len(service.asked) < 100
    assert caught.value.partial.notes[0].startswith("20 users in a row")  # type: ignore[attr-defined]


class Interrupt:
    """Interrupts the main thread during one request, and waits until the signal is handled."""

    def __init__(self, at: int) -> None:
        self.at = at
        self.heard = threading.Event()
        self.before = signal.signal(signal.SIGINT, self._hear)

    def _hear(self, *_: Any) -> None:
        signal.signal(signal.SIGINT, self.before)
        self.heard.set()
        raise KeyboardInterrupt

    def __call__(self, _: dict[str, str], call: int) -> None:
        if call == self.at:
            signal.pthread_kill(threading.main_thread().ident or 0, signal.SIGINT)
            assert self.heard.wait(10)


@pytest.mark.slow
def test_an_interrupt_keeps_what_was_read() -> None:
    """After Ctrl-C the rows read so far are returned, and `resume` completes the read."""
    users = usual(200, 120)
    service = Service(users, before=Interrupt(at=20))
    rewards = read(service, concurrency=2)
    asked = len(service.asked)

    assert not rewards.complete
    assert rewards.notes[0].startswith("The read was interrupted")
    assert 0 < len(rewards.frame()) < 200 * 120
    assert asked < 2 * 200

    service.before = lambda query, call: None
    whole = read(service, resume=rewards)
    assert whole.complete
    assert whole.frame()["id"].tolist() == [one["id"] for rows in users.values() for one in rows]


def test_too_many_requests_slow_all_down() -> None:
    """After a 429 the read waits as requested, and no row is lost."""
    service = Service(usual(20, 30))
    service.before = lambda q, call: refusal(429, "E", "slow", Retry_After="7") if call in {3, 4, 5} else None
    client = quick_client(service)
    rewards = reads.fetch(client, list(service.rows), progress=False, concurrency=8)

    assert rewards.complete
    assert len(rewards.frame()) == 600
    assert sum(context_of(client).clock.waited) >= 7  # type: ignore[attr-defined]


def test_an_endless_429_ends_the_read() -> None:
    """If the service answers 429 with a long pause, the read ends with a note."""
    service = Service(usual(3, 3), before=lambda q, call: refusal(429, "E", "no", Retry_After="3600"))

    with pytest.raises(Exception, match="429") as caught:
        reads.fetch(quick_client(service), list(service.rows), progress=False)
    assert "Try again after 3600 s" in caught.value.partial.notes[0]  # type: ignore[attr-defined]
    assert len(service.asked) <= 6


def test_the_gate_narrows_and_widens() -> None:
    """Several 429s at once halve the number of concurrent requests once. Answers raise it again."""

    async def through() -> list[int]:
        gate, seen = Gate(8), []
        gate.slower()
        gate.slower()
        seen.append(int(gate.allowed))
        for _ in range(200):
            async with gate:
                pass
        seen.append(int(gate.allowed))
        return seen

    assert asyncio.run(through()) == [4, 8]


def test_never_more_in_flight_than_asked_for() -> None:
    """With many workers, no more requests than allowed run at once."""

    async def through() -> int:
        gate, inside, most = Gate(3), 0, 0

        async def work() -> None:
            nonlocal inside, most
            async with gate:
                inside += 1
                most = max(most, inside)
                await asyncio.sleep(0)
                inside -= 1

        await asyncio.gather(*(work() for _ in range(50)))
        return most

    assert asyncio.run(through()) == 3


def test_a_folder_holds_all_and_goes_on(tmp_path: Path) -> None:
    """`path=` writes Parquet files. A second call reads only missing users and gives the same frame."""
    users = usual(6, 150)
    service = Service(users)
    folder = tmp_path / "rewards"
    half = read(service, users=list(users)[:3], path=folder)
    service.asked = []
    whole = read(service, path=folder)

    assert half.complete
    assert {query["userId"] for query in service.asked} == set(list(users)[3:])
    pd.testing.assert_frame_equal(whole.frame(), read(service).frame())
    assert whole.frame().attrs["complete"] is True
    assert str(pq.read_table(folder).schema.field("points").type) == "decimal256(37, 18)"


def test_a_folder_of_another_read_is_left_alone(tmp_path: Path) -> None:
    """A folder of a read with another filter, or with other files, is refused."""
    service = Service(usual(1, 5))
    read(service, path=tmp_path / "a")
    with pytest.raises(UsageError, match="contains a different read"):
        read(service, path=tmp_path / "a", type="earned")
    (tmp_path / "b").mkdir()
    (tmp_path / "b" / "x.txt").write_text("mine")
    with pytest.raises(UsageError, match="is not empty"):
        read(service, path=tmp_path / "b")


def newest_first(user: int, days: int) -> list[dict[str, Any]]:
    """Return a row for each day, the newest first."""
    start = datetime(2025, 1, 1, tzinfo=UTC)
    return [
        row(user * 10_000 + day, createdAt=(start + timedelta(days=day)).isoformat()) for day in reversed(range(days))
    ]


@pytest.mark.parametrize("rows, fewer", [(newest_first(0, 900), True), (newest_first(0, 900)[::-1], False)])
def test_a_range_of_time_needs_few_pages_where_the_order_allows_it(rows: list[dict[str, Any]], fewer: bool) -> None:
    """If the newest rows come first, pages before `since` are not requested, which a note says."""
    service = Service({user_id(0): rows})
    made = read(service, since="2027-05-01")

    assert len(made.frame()) == sum(one["createdAt"] >= "2027-05-01" for one in rows)
    assert made.complete
    assert (len(service.asked) <= 2) is fewer
    assert any("newest rows first (assumed)" in note for note in made.notes) is fewer


@pytest.mark.slow
def test_a_folder_survives_an_interrupt(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """After an interrupt, a second call reads the rest, and each row occurs once."""
    monkeypatch.setattr("workbench.analysis.rewards.read_job.PART_PAGES", 4)
    users = usual(200, 120)
    service = Service(users, before=Interrupt(at=25))
    first = read(service, concurrency=2, path=tmp_path / "r")
    service.before, service.asked = (lambda query, call: None), []
    parts = [*(tmp_path / "r").rglob("*.parquet")]
    second = read(service, path=tmp_path / "r")

    assert len(parts) > 1
    assert not first.complete
    assert second.complete
    assert 0 < len({query["userId"] for query in service.asked}) < 200
    assert second.frame()["id"].tolist() == [one["id"] for rows in users.values() for one in rows]


def test_points_no_decimal_holds_stand_beside_in_a_folder(tmp_path: Path) -> None:
    """Points beyond the folder's decimal type are text in `extra`."""
    service = Service({user_id(0): [row(1), row(2, points=str(2**256))]})
    frame = read(service, path=tmp_path / "r").frame()

    assert frame["points"].tolist()[0] == Decimal("1.5")
    assert frame["points"].isna().tolist() == [False, True]
    assert frame["extra"].tolist()[1] == f'{{"points":"{2**256}"}}'


def test_a_full_disk_is_reported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A disk error is raised unchanged."""

    def full(*_: Any, **__: Any) -> None:
        raise OSError(28, "No space left on device")

    service = Service(usual(3, 5))
    monkeypatch.setattr("workbench.analysis.rewards.folder.write_file", full)
    with pytest.raises(OSError, match="No space left"):
        read(service, path=tmp_path / "r")


def test_progress_is_reported() -> None:
    """The function receives the number of users and rows, from the start to the end."""
    seen: list[str] = []
    service = Service(usual(3, 5))
    reads.fetch(service.client(), list(service.rows), progress=lambda progress: seen.append(str(progress)))

    assert "0 of 3 users" in seen[0]
    assert "3 of 3 users · 15 rows" in seen[-1]
    assert " in 0:00" in seen[-1]


def test_a_read_that_gets_no_answer_is_reported(tmp_path: Path) -> None:
    """If no user gets an answer, NoAnswer is raised."""
    service = Service(usual(1, 5), before=lambda q, call: httpx.ReadTimeout("slow"))

    with pytest.raises(NoAnswer):
        reads.fetch(quick_client(service), list(service.rows), progress=False)


def test_progress_can_stop_a_read() -> None:
    """The progress function can stop the read, and a later call reads the rest."""
    service = Service(usual(12, 30))

    def enough(progress: Progress) -> None:
        if progress.done >= 2:
            progress.stop("Enough.")

    rewards = reads.fetch(service.client(), list(service.rows), concurrency=1, progress=enough)
    begun = rewards.rows
    rewards = read(service, resume=rewards)

    assert 0 < begun < 360
    assert rewards.complete
    assert len(rewards.frame()) == rewards.rows == 360


def test_a_read_that_is_over_is_stopped_no_more() -> None:
    """A stop after the end has no effect."""
    seen: list[Progress] = []
    service = Service(usual(1, 5))
    reads.fetch(service.client(), list(service.rows), progress=seen.append)
    seen[-1].stop("too late")

    assert seen[-1].ended
