"""Several receivers and a worker on one inbox file, under the faults of real deployments."""

import random
import sqlite3
import time
from contextlib import closing
from pathlib import Path

import pytest

from tests.ports import free_port
from tests.webhooks.campaign import Member, Senders, count, deliveries, hold, recover


@pytest.mark.parametrize(
    "roles, events, kills, restarts, holds, seconds",
    [
        pytest.param(("receiver", "forked", "worker"), 600, 3, 1, 1, 1.0, marks=pytest.mark.slow, id="short"),
        pytest.param(
            ("receiver", "forked", "worker"), 50_000, 20, 5, 5, 10.0, marks=[pytest.mark.soak, pytest.mark.timeout(0)],
            id="two receivers and a worker",
        ),
        pytest.param(
            ("receiver",) * 4, 20_000, 20, 5, 1, 10.0, marks=[pytest.mark.soak, pytest.mark.timeout(0)],
            id="four workers that receive and handle",
        ),
    ],
)  # fmt: skip
def test_each_event_is_handled(
    request: pytest.FixtureRequest,
    tmp_path: Path,
    roles: tuple[str, ...],
    events: int,
    kills: int,
    restarts: int,
    holds: int,
    seconds: float,
) -> None:
    """An atomic handler handles each event exactly once, another at least once, and no forged event is stored.

    Deliveries are repeated, reordered, forged, and signed with a rotated key. Processes are killed; one opened the
    inbox before a fork, and one reaches the file through a symbolic link. The file is held, and for a while no file may
    grow. The database restarts: all processes end at once, and the next connection recovers the file.
    """
    path, notes = tmp_path / "inbox.db", tmp_path / "notes"
    (tmp_path / "link.db").symlink_to(path)
    chance = random.Random(events)
    members = [
        Member(role, tmp_path / "link.db" if i == 0 else path, free_port(), notes) for i, role in enumerate(roles)
    ]
    for member in members:
        member.start()
        request.addfinalizer(member.kill)
    queue = deliveries(events, seed=events)
    ids = {event_id for event_id, *_ in queue if event_id is not None}
    began = time.monotonic()
    senders = Senders([one.port for one in members if one.role != "worker"], queue, count=8)
    troubles = ["kill"] * kills + ["restart"] * restarts + ["hold"] * holds + ["full"]
    chance.shuffle(troubles)
    for i, trouble in enumerate(troubles):
        while len(senders.acknowledged) < events * i / (len(troubles) + 1) and any(
            t.is_alive() for t in senders.threads
        ):
            time.sleep(0.01)
        member = chance.choice(members)
        if trouble == "kill":
            member.kill()
            member.start()
        elif trouble == "restart":
            for one in members:
                one.kill()
            recover(path)
            for one in members:
                one.start()
        elif trouble == "hold":
            hold(path, seconds)
        else:
            member.limit_files(path.with_name("inbox.db-wal").stat().st_size)
            time.sleep(seconds / 2)
            member.limit_files(-1)
    for thread in senders.threads:
        thread.join()
    done = "SELECT count(*) FROM handlers WHERE position = (SELECT max(sequence) FROM events)"
    waiting = "SELECT count(*) FROM effects WHERE state != 'done'"
    handled, moved = -1, time.monotonic()
    while count(path, waiting) or count(path, done) < 2:
        if (now := count(path, "SELECT sum(position) FROM handlers")) != handled:
            handled, moved = now, time.monotonic()
        assert time.monotonic() - moved < 300, "no event was handled for five minutes"
        time.sleep(0.05)
    for member in members:
        member.kill()
    with closing(sqlite3.connect(path)) as connection, connection:
        stored = [one for (one,) in connection.execute("SELECT id FROM events")]
        booked = [one for (one,) in connection.execute("SELECT id FROM book")]
        whole = connection.execute("PRAGMA integrity_check").fetchone()
    connection.close()
    print(
        f"\n{events:,} events, {', '.join(roles)}: {kills} kills, {restarts} restarts, {holds} times held for {seconds:g} s, a full disk, "
        f"{'a fork, ' if 'forked' in roles else ''}a symbolic link in {time.monotonic() - began:,.0f} s: {len(set(ids) - set(booked))} never handled, "
        f"{len(booked) - len(set(booked))} atomic doubles"
    )

    assert senders.wrong == []
    assert senders.acknowledged == ids
    assert (sorted(stored), sorted(booked), whole) == (sorted(ids), sorted(ids), ("ok",))
    assert set(notes.read_text().split()) == ids
