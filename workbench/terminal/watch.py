"""`workbench events watch` and `events tail`: follow a sandbox on a screen or line by line."""

import asyncio
import json
import signal
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal

from cyclopts import Parameter

from workbench.base.errors import WorkbenchError, visible
from workbench.client.calls.journal import Journal
from workbench.sandbox.timeline import LANES
from workbench.terminal.commands import read_duration
from workbench.terminal.exits import DONE, INTERRUPTED, STOPPED, flush_line, say, usage_error
from workbench.terminal.where import Where, session

_POLL_INTERVAL = 0.5  # seconds
_FILTER = "Filter: part of any column, or failed"


def _new(sandbox: Any, seen: set[str], journal: Any = ()) -> Iterator[Any]:
    """Yield the entries since the last call."""
    for happening in sandbox.timeline(journal):
        if happening.key not in seen:
            seen.add(happening.key)
            yield happening


def tail(
    *,
    follow: Annotated[
        bool,
        Parameter(
            negative="--no-follow", help="Keep following until Ctrl-C; without it, print what is stored and exit."
        ),
    ] = True,
    as_json: Annotated[bool, Parameter(name="--json", help="Print a JSON object for each line.")] = False,
    failed: Annotated[bool, Parameter(help="Only refused requests and failed deliveries.")] = False,
    where: Where = Where(),
) -> None:
    """Print requests, events and deliveries as they happen."""
    seen = set[str]()
    with session(where) as api:
        while True:
            for happening in _new(api.sandbox, seen):
                if failed and not happening.failed:
                    continue
                line = happening.line()
                text = (
                    json.dumps(line)
                    if as_json
                    else (
                        f"{line['at']}  {happening.lane:8}  {happening.title:32}  {visible(happening.status, 60)}  "
                        f"{happening.subject[:8]}"
                    )
                )
                print(text)
                flush_line()
            if not follow:
                return
            time.sleep(_POLL_INTERVAL)


def watch(*, journal: Path | None = None, where: Where = Where()) -> int:
    """Watch requests, events and deliveries on one timeline, and act on them.

    Keys: / filter, Enter details, w why, r resend, s settle, v review, f inject a fault, c clear faults, t move the
    clock, u copy as curl, p copy as Python, q quit.

    Args:
        journal: Journal file of your application; its entries are shown next to their requests.
    """
    if not sys.stdout.isatty():
        raise usage_error("watch needs a terminal; without one: workbench events tail")
    import textual  # noqa: F401 - missing, it is said before a session opens

    if journal is not None and not journal.is_file():
        raise usage_error(f"--journal: no file {visible(str(journal), 200)}.")
    with session(where) as api:
        stopped = screen(api, Journal(journal) if journal is not None else None).run()
    say("Stopped watching.")
    return stopped or DONE


def screen(api: Any, journal: Any = None) -> Any:
    """Return the Textual application of a session."""
    from rich.text import Text
    from textual.app import App as TextualApp
    from textual.binding import Binding
    from textual.containers import Horizontal, VerticalScroll
    from textual.widgets import DataTable, Footer, Header, Input, Static

    journal = api.journal if journal is None else journal

    class Watch(TextualApp[int]):
        CSS = """
        Input { display: none; height: 3; }
        Input.shown { display: block; }
        DataTable { width: 3fr; }
        VerticalScroll { width: 2fr; border-left: solid $panel; display: none; padding: 0 1; }
        VerticalScroll.shown { display: block; }
        """
        TITLE = "Card issuing workbench"
        BINDINGS: ClassVar[list[Any]] = [
            Binding("slash", "filter", "Filter"),
            Binding("w", "why", "Why"),
            Binding("r", "resend", "Resend"),
            Binding("s", "settle", "Settle"),
            Binding("v", "review", "Review"),
            Binding("f", "fault", "Fault"),
            Binding("c", "clear_faults", "Clear faults"),
            Binding("t", "advance", "Clock"),
            Binding("u", "copy('curl')", "curl", show=False),
            Binding("p", "copy('python')", "Python", show=False),
            Binding("escape", "close", "Close", show=False),
            Binding("q", "quit", "Quit"),
        ]

        def __init__(self) -> None:
            super().__init__()
            self.seen: set[str] = set()
            self.happenings: list[Any] = []
            self.shown: list[Any] = []
            self.wanted = ""
            self.answered: Callable[[str], None] | None = None  # what the input line is for; None: the filter

        def compose(self) -> Any:
            yield Header(icon=" ")
            yield Input(placeholder=_FILTER)
            with Horizontal():
                yield DataTable(cursor_type="row", zebra_stripes=True)
                with VerticalScroll():
                    yield Static("", id="details", markup=False)
            yield Footer()

        def on_mount(self) -> None:
            loop = asyncio.get_running_loop()
            for number, code in ((signal.SIGTERM, STOPPED), (signal.SIGHUP, STOPPED), (signal.SIGINT, INTERRUPTED)):
                if signal.getsignal(number) is not signal.SIG_IGN:  # as `nohup` does
                    loop.add_signal_handler(number, self.exit, code)  # an exception in the loop could be swallowed
            table = self.query_one(DataTable)
            for title in ("at", "", "what", "status", "id"):
                table.add_column(title)
            self.sub_title = f"{api.environment} at {api.host}"
            table.focus()
            self.look()
            self.set_interval(_POLL_INTERVAL, self.look)

        def look(self) -> None:
            """Append new entries below the earlier ones."""
            try:
                happenings = list(_new(api.sandbox, self.seen, journal))
            except WorkbenchError as error:
                self.notify(visible(str(error), 200), severity="error")
                return
            self.happenings += happenings
            self.add(happenings)

        def add(self, happenings: list[Any]) -> None:
            table = self.query_one(DataTable)
            follows = table.cursor_row >= len(self.shown) - 1
            for happening in happenings:
                cells = (
                    f"{happening.at:%H:%M:%S}",
                    LANES[happening.lane],
                    visible(happening.title)[:33],
                    ("✗ " if happening.failed else "") + visible(happening.status, 40),
                    happening.subject[:8],
                )
                if self.wanted in " ".join((*cells, "failed" if happening.failed else "")).lower():
                    self.shown.append(happening)
                    table.add_row(*(Text(cell, style="red" if happening.failed else "") for cell in cells))
            if follows and self.shown:
                table.move_cursor(row=len(self.shown) - 1)

        def chosen(self) -> Any:
            row = self.query_one(DataTable).cursor_row
            return self.shown[row] if 0 <= row < len(self.shown) else None

        def on_input_changed(self, event: Any) -> None:
            if self.answered is not None:
                return
            self.wanted = event.value.lower()
            self.shown = []
            self.query_one(DataTable).clear()
            self.add(self.happenings)

        def on_input_submitted(self, event: Any) -> None:
            answered, self.answered = self.answered, None
            if answered is not None:
                self.query_one(Input).remove_class("shown")
                answered(event.value.strip())
            self.query_one(DataTable).focus()

        def ask(self, what: str, usual: str, answered: Callable[[str], None] | None) -> None:
            """Ask for a line of text; Enter accepts the default, Escape cancels."""
            field = self.query_one(Input)
            self.answered = answered
            field.placeholder, field.value = what, usual
            field.add_class("shown")
            field.focus()

        def on_data_table_row_selected(self) -> None:
            if (happening := self.chosen()) is not None:
                self.show(json.dumps(happening.details, indent=1, default=str, ensure_ascii=False))

        def show(self, text: str) -> None:
            self.query_one("#details", Static).update(Text("\n".join(visible(line, 500) for line in text.splitlines())))
            self.query_one(VerticalScroll).add_class("shown")

        def action_filter(self) -> None:
            self.ask(_FILTER, self.wanted, None)

        def action_close(self) -> None:
            self.answered = None
            self.query_one(Input).remove_class("shown")
            self.query_one(VerticalScroll).remove_class("shown")
            self.query_one(DataTable).focus()

        def action_why(self) -> None:
            if (happening := self.chosen()) is not None and happening.event_id:
                chain = api.sandbox.why(happening.event_id, journal)
                lines = [f"{LANES[link.lane]} {link.title}\n    {link.status}" for link in chain]
                self.show("\n".join([chain.title, *lines]))

        def do(self, said: str, action: Callable[[], object]) -> None:
            try:
                action()
            except WorkbenchError as error:
                self.notify(visible(str(error), 200), severity="error")
            else:
                self.notify(said)
                self.look()

        def action_resend(self) -> None:
            if (happening := self.chosen()) is not None and happening.event_id:
                self.do("Event resent.", lambda: api.sandbox.resend(happening.event_id))

        def action_settle(self) -> None:
            if (happening := self.chosen()) is not None:
                self.do("Settled.", lambda: api.sandbox.settle(happening.subject))

        def action_review(self) -> None:
            if (happening := self.chosen()) is not None:
                self.ask(
                    "Status: approved, denied, needsInformation, manualReview …",
                    "approved",
                    lambda status: self.do(f"Now {status}.", lambda: api.sandbox.review(happening.subject, status)),
                )

        def action_fault(self) -> None:
            def add(text: str) -> None:
                kind, _, of = text.partition(" ")
                self.do(f"The next call: {text}.", lambda: api.sandbox.add_fault(kind, of=of.strip() or None, times=1))

            self.ask("Fault of the next call: lost, status, latency, malformed …, and an operation", "lost", add)

        def action_clear_faults(self) -> None:
            self.do("Fault rules removed.", api.sandbox.clear_faults)

        def action_advance(self) -> None:
            def move(text: str) -> None:
                try:
                    steps = read_duration(text)
                except ValueError as error:
                    self.notify(visible(str(error), 200), severity="error")
                else:
                    self.do(f"Clock moved by {text}.", lambda: api.sandbox.advance(**steps))

            self.ask("How far: 2h30m, 3d", "1h", move)

        def action_copy(self, to: Literal["curl", "python"]) -> None:
            from workbench.testing.exports import call_as

            happening = self.chosen()
            text = (
                None
                if happening is None or happening.lane != "request"
                else call_as(happening.record, to, base_url=api.base_url)
            )
            if text is None:
                self.notify("Choose the request of an operation.", severity="warning")
                return
            self.copy_to_clipboard(text)
            self.show(text)

    return Watch()
