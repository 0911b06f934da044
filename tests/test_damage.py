"""Random damage to stored files is reported, and no changed record is used."""

import random
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import workbench as wb
from workbench.base.errors import AdviceWarning, CannotRecord, UnusableFile

pytestmark = pytest.mark.slow  # these tests damage and read many files

KEY = "a-signing-key"
ROWS = 40


def buy(api: wb.Session) -> None:
    """Make the purchases that are stored."""
    card = api.sandbox.guide()["cards"]["active"][0]
    for amount in range(ROWS):
        api.simulate_authorization(
            card_id=card,
            amount=amount + 1,
            currency="USD",
            merchant_name="Example Books",
            merchant_category_code="5942",
        )


def journal(path: Path) -> Callable[[Path], list[Any]]:
    """Create a journal, and return a function that reads one."""
    with wb.connect(journal=path) as api:
        buy(api)

    def read(path: Path) -> list[Any]:
        found = wb.Journal(path)
        try:
            return [(one.id, str(one.final_outcome), one.answer) for one in found]
        finally:
            found.close()

    return read


def inbox(path: Path) -> Callable[[Path], list[Any]]:
    """Create an inbox, and return a function that reads one."""
    box = wb.Inbox(path, keys=[KEY])
    for _ in range(ROWS):
        sample = wb.events.sample("user.updated", KEY)
        box.receive(sample.headers, sample.body)
    box.close()

    def read(path: Path) -> list[Any]:
        found = wb.Inbox(path, keys=[KEY])
        try:
            return [(event.sequence, event.raw, event.arrived, event.times) for event in found.stored()]
        finally:
            found.close()

    return read


def run(path: Path) -> Callable[[Path], list[Any]]:
    """Create a bulk run, and return a function that reads one."""
    with wb.connect() as api:
        card = api.sandbox.guide()["cards"]["active"][0]
        rows = [
            {
                "card_id": card,
                "amount": n + 1,
                "currency": "USD",
                "merchant_name": f"Shop {n}",
                "merchant_category_code": "5942",
            }
            for n in range(ROWS)
        ]
        wb.bulk.run(api.simulate_authorization, rows, path=path, progress=False)

        def read(path: Path) -> list[Any]:
            result = wb.bulk.resume(api, path, rows, progress=False)
            return [(one.row, one.outcome, one.id, one.at) for one in result.rows() if one.outcome != "unknown"]

    return read


def sandbox(path: Path) -> Callable[[Path], list[Any]]:
    """Create a sandbox's file, and return a function that reads the purchases and events of one."""
    with wb.connect(path=path) as api:
        buy(api)

    def read(path: Path) -> list[Any]:
        found = wb.Sandbox(path=path)
        try:
            return [*found.records("transaction", all_tenants=True), *found.events(all_tenants=True)]
        finally:
            found.close()

    return read


def damaged(path: Path, whole: bytes, chance: random.Random) -> Iterator[None]:
    """Overwrite some consecutive bytes."""
    length = chance.choice([1, 1, 4, 64, 512])
    at = chance.randrange(len(whole) - length)
    path.write_bytes(whole[:at] + chance.randbytes(length) + whole[at + length :])


@pytest.mark.parametrize(
    "times", [20, pytest.param(160, marks=[pytest.mark.soak, pytest.mark.timeout(0)])], ids=["few", "many"]
)
@pytest.mark.parametrize("make", [journal, inbox, run, sandbox], ids=lambda make: make.__name__)
def test_no_damaged_record_is_used(make: Any, times: int, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A damaged file returns the records as written, or raises a workbench error."""
    path = tmp_path / "file.db"
    read = make(path)
    expected = read(path)
    whole = path.read_bytes()
    chance, counts = random.Random(7), {"the same": 0, "set aside": 0, "refused": 0}
    for number in range(times):
        for other in tmp_path.glob("file.db*"):
            other.unlink()
        damaged(path, whole, chance)
        with warnings.catch_warnings(record=True) as said:
            warnings.simplefilter("always", AdviceWarning)
            try:
                found = read(path)
            except (UnusableFile, CannotRecord):
                counts["refused"] += 1
                continue
        lost = [one for one in expected if one not in found]
        assert [one for one in found if one not in expected] == [], number
        assert not lost or any("set aside" in str(one.message) for one in said), number
        counts["set aside" if lost else "the same"] += 1
    with capsys.disabled():
        print(make.__name__, counts)

    assert sum(counts.values()) == times
