"""What is typed in a shell and what a command prints hold no planted value (K2, K4, W17)."""

from pathlib import Path

import pytest

import workbench as wb
from tests.canaries.conftest import Life
from tests.canaries.planted import PERSON, PLANTED, found
from workbench.terminal import main


def test_a_command_prints_none(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The default output of a command, and its errors, mask what it was given."""
    monkeypatch.setenv("WORKBENCH_STATE", str(tmp_path))
    flat = {name: value for name, value in PERSON.items() if isinstance(value, str)} | {"national_id": "000771293x"}
    main(
        [
            "create_user_application",
            *(part for name, value in flat.items() for part in (f"--{name.replace('_', '-')}", value)),
        ]
    )
    caught = capsys.readouterr()

    assert "9 digits" in caught.out + caught.err
    assert found(caught.out + caught.err) == []


def test_an_inbox_can_forget(tmp_path: Path) -> None:
    """Events stand in the inbox's own file, whole; purged, no byte of them does (W17)."""
    sample = wb.sample_event("user.updated", PLANTED["webhook key"], first_name="Zqfirst")
    with wb.Inbox(tmp_path / "inbox.db", keys=(PLANTED["webhook key"],)) as inbox:
        event = inbox.receive(sample.headers, sample.body).event
        before = found(b"".join(one.read_bytes() for one in tmp_path.iterdir()))
        inbox.purge(event.body.id)

    assert "first name" in before
    assert found(b"".join(one.read_bytes() for one in tmp_path.iterdir())) == []


def test_the_planted_values_did_arrive(life: Life) -> None:
    """The scan is no scan of nothing: what was planted stands where it belongs, in the sandbox's own records."""
    held = repr([list(life.api.sandbox.store.all(kind)) for kind in ("user", "owner", "payment_account", "dispute")])

    assert len(found(held)) >= 12
