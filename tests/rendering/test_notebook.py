"""Display of records, lists and errors in IPython, and its removal."""

import pytest
from IPython.core.interactiveshell import InteractiveShell

from workbench.base.errors import InvalidRequest, Problem
from workbench.base.schema.walk import build
from workbench.service import rendering
from workbench.service.interface.people import User

USER = build(User, {"id": "3f2a0b1c-0000-4000-8000-000000000000", "email": "ada@example.com"})


@pytest.fixture
def shell(tmp_path, monkeypatch):
    monkeypatch.setenv("IPYTHONDIR", str(tmp_path))
    monkeypatch.setenv("HOME", str(tmp_path))
    shell = InteractiveShell()
    shell.history_manager.enabled = False
    yield shell
    shell.history_manager.end_session()


def test_records_show_their_faces(shell):
    """A record is displayed as HTML and text, both masked."""
    rendering.register(shell)
    data, _ = shell.display_formatter.format(USER)

    assert data["text/html"].startswith('<div class="wb-face"')
    assert data["text/plain"].startswith("User\n  id ")
    assert "ada@example.com" not in str(data)


def test_lists_of_records_show_as_tables_and_others_as_before(shell):
    """A list of records is displayed as a table. Other lists are unchanged."""
    rendering.register(shell)

    assert "<table" in shell.display_formatter.format([USER, USER])[0]["text/html"]
    assert shell.display_formatter.format([1, 2])[0] == {"text/plain": "[1, 2]"}
    assert shell.display_formatter.format([])[0] == {"text/plain": "[]"}


def test_errors_show_what_happened_instead_of_a_trace(shell, capsys):
    """A workbench error is shown without a traceback, and the cell counts as failed."""
    rendering.register(shell)
    shell.user_ns["error"] = InvalidRequest([Problem("amount", "type", "must be whole")], of="simulate_refund")
    result = shell.run_cell("raise error")

    said = capsys.readouterr().out
    assert isinstance(result.error_in_exec, InvalidRequest)
    assert "Invalid request of simulate_refund" in said
    assert "Traceback" not in said


def test_taking_faces_back_leaves_the_shell_as_it_was(shell):
    """After removal of the display, a list of records is shown as before."""
    before = shell.display_formatter.format([USER])[0]
    undo = rendering.register(shell)
    undo()

    assert shell.display_formatter.format([USER])[0] == before


def test_a_long_list_of_events_is_twenty_lines(shell):
    """A list of 7,000 events shows the first 20, and says how to see all. A short list is complete."""
    from workbench.service.interface.events import Event

    events = [
        build(Event, {"id": str(n), "resource": "user", "action": "updated", "body": {"id": "u"}}) for n in range(7_000)
    ]
    rendering.register(shell)
    data, _ = shell.display_formatter.format(events)

    assert data["text/plain"].startswith("7,000 events, the first 20; wb.to_frame shows all rows")
    assert data["text/plain"].count("user.updated") == 20
    assert len(data["text/html"]) < 20_000
    assert "wb.to_frame" not in shell.display_formatter.format(events[:2])[0]["text/plain"]
