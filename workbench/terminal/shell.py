"""Commands for IPython, JupyterLab, reports as files, and the server for coding agents."""

import os
import re
import subprocess
import sys
from contextlib import nullcontext
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import Parameter

import workbench
from workbench.base.errors import WorkbenchError, visible
from workbench.client.session import sandbox_of
from workbench.service import rendering
from workbench.terminal.binding import command
from workbench.terminal.exits import DONE, exit_code, say, usage_error, waiting_for_signals
from workbench.terminal.where import Name, Text, Url, Where, arguments_of, read_duration, session

if TYPE_CHECKING:
    from workbench.client.session import Session

_BANNER = """api      {api}
sandbox  controls: sandbox.settle(…), sandbox.review(…), sandbox.advance(days=2), sandbox.guide()
inbox    received events: inbox.events()
wb       the workbench
"""


@command
def shell(
    api: "Session", /, *, code: Annotated[str | None, Parameter(name=("--code", "-c"), metavar="CODE")] = None
) -> int:
    """Open IPython with `api`, `sandbox`, `inbox` and `wb` ready, on a sandbox or a profile.

    Args:
        code: Run one line of code and exit.
    """
    from IPython.terminal.interactiveshell import TerminalInteractiveShell

    sandbox = sandbox_of(api)
    controls = {} if sandbox is None else {"sandbox": sandbox, "inbox": api.inbox}
    make: Any = TerminalInteractiveShell
    app = make.instance(
        user_ns={"api": api, "wb": workbench, **controls},
        banner1=_BANNER.format(api=repr(api)),
        confirm_exit=False,
        colors="nocolor" if os.environ.get("NO_COLOR") else "neutral",
    )
    app.history_manager.enabled = code is None
    rendering.register(app)
    keep_no_keys(app)
    if code is not None:
        result = app.run_cell(code)
        error = result.error_before_exec or result.error_in_exec
        return DONE if error is None else exit_code(error) if isinstance(error, WorkbenchError) else 1
    app.show_banner()
    app.mainloop()
    return DONE


def keep_no_keys(ipython: Any) -> None:
    """Exclude inputs that contain a key from the history."""
    usual = ipython.history_manager.store_inputs

    def store_inputs(number: int, source: str, source_raw: str | None = None) -> None:
        if holds_key(source_raw or source):
            source = source_raw = "# omitted: held a key"
        usual(number, source, source_raw)

    ipython.history_manager.store_inputs = store_inputs


def holds_key(text: str) -> bool:
    """Return whether a text contains a key: a literal assigned to a key variable, or a key from the environment."""
    if re.search(r"""(?i)\b(?:api_?key|secret|password|token)\w*["']?\s*[:=]\s*(?:Key\()?["'][^"']""", text):
        return True
    keys = [value for name, value in os.environ.items() if name.startswith("WORKBENCH_") and name.endswith("KEY")]
    return any(value and value in text for value in keys)


@command
def dashboard(
    *,
    out: Path = Path("dashboard.html"),
    open_: Annotated[bool, Parameter(name="--open")] = False,
    every: Text | None = None,
    where: Where = Where(),
) -> None:
    """Write the panel's overview to an HTML file: tasks for people, tiles, charts, and the lists behind them.

    The file needs no server or network. A browser can sort, filter and open its rows. By default it shows your own
    sandbox. With --fresh it shows a year of a program with 240 people.

    Args:
        out: File to write. An existing file is not overwritten.
        open_: Open the file in a browser.
        every: Rewrite the file at this interval, such as 30s, until Ctrl-C. The open page reloads and keeps its
            filters.
    """
    import webbrowser

    from workbench.base.system.files import write_file
    from workbench.client.session import connect
    from workbench.screens.panel.file import to_file
    from workbench.screens.panel.panel import ALL, browse

    seconds = round(read_duration(every).total_seconds()) if every is not None else 0
    with connect(**{**arguments_of(where), **({"world": "program"} if where.fresh else {})}) as api:
        written = browse(api)
        for name in ("contracts", "users", "transactions", "disputes", "deliveries"):
            written.open(name)
        written.rewards.show(ALL)
        to_file(written, out)
        say(f"Wrote {visible(str(out), 200)}.")
        if seconds:
            write_file(out, written.document(every=seconds).encode(), private=False)
        if open_:
            webbrowser.open(out.absolute().as_uri())
        if seconds:
            say(f"Rewriting the file every {every}; press Ctrl-C to stop.")
            with waiting_for_signals() as wait:
                while True:
                    wait(seconds)
                    write_file(out, written.document(every=seconds).encode(), private=False)


@command
def close(
    *logs: Path,
    month: Annotated[str, Parameter(metavar="MONTH")],
    out: Path,
    tz: Name = "UTC",
    currency: Name | None = None,
    ledger: Path | None = None,
    signed_by: Name = "",
    former: Path | None = None,
    rewards: Path | None = None,
    where: Where = Where(),
) -> None:
    """Write the monthly close as workbook, page and postings, from the facts known when the month ended.

    The same events produce the same bytes, and later events change nothing in the close of an earlier month.

    Args:
        logs: Event logs, or folders with event logs. The default is the events of the sandbox or the inbox.
        month: Month to close, such as 2026-06. The month must be over.
        out: Folder for the files. It must be new or empty.
        tz: Time zone of the month, such as America/New_York.
        currency: Currency of the amounts. By default all currencies are included, in separate rows.
        ledger: File with transaction_id, net_cents and at, to reconcile with the postings.
        signed_by: Name of the person who signs off. It appears in every file.
        former: Folder of the previous month's close, whose closing balance is compared with this month's opening
            balance.
        rewards: Parquet file with all rewards rows, for the roll-forward of points.
    """
    from workbench.analysis.reports.history import history
    from workbench.analysis.tables.read_table import read_table

    points = None if rewards is None else read_table(rewards)
    with nullcontext([*logs]) if logs else session(where) as source:
        filtered = history(source).filter(tz=tz, currency=currency)
        closing = filtered.close(month, ledger=ledger, signed_by=signed_by, former=former, rewards=points)
    for path in closing.write(out):
        say(f"Wrote {visible(str(path), 200)}.")
    for line in closing.statement:
        say(line)


@command
def lab(folder: Path | None = None, /) -> int:
    """Open JupyterLab in a folder, without news and update checks. In a checkout it opens the course.

    Args:
        folder: Folder to open; default: the current folder.
    """
    root = (folder or Path()).absolute()
    first = Path("notebooks/01-start-here.ipynb")
    options = ["--ServerApp.ip=127.0.0.1", f"--ServerApp.root_dir={root}"]
    if (root / first).is_file():
        options.append(f"--LabApp.default_url=/lab/tree/{first.as_posix()}")
    if hasattr(os, "getuid") and os.getuid() == 0:
        options.append("--allow-root")
    # settings in the folder `labconfig`: no news, and Markdown files open as preview
    settings = Path(__file__).parents[1] / "screens" / "forms"
    paths = [str(settings), *filter(None, [os.environ.get("JUPYTER_CONFIG_PATH")])]
    import_module("jupyterlab")  # if JupyterLab is missing, this raises an error here and not in the subprocess
    say(f"Opening JupyterLab on {root}; press Ctrl-C to stop.")
    environment = {**os.environ, "JUPYTER_CONFIG_PATH": os.pathsep.join(paths)}
    return subprocess.run([sys.executable, "-m", "jupyterlab", *options], env=environment, check=False).returncode


@command
def agent(api: "Session", /, *, forward_to: tuple[Url, ...] = ()) -> None:
    """Serve tools for coding agents with the Model Context Protocol, over standard input and output.

    By default the tools use your own sandbox. A production profile needs --live. Its calls with an effect need an armed
    session and a confirmation by the person at the client.

    Args:
        forward_to: Deliver the sandbox's events to this http URL while serving. An agent cannot register an endpoint.
    """
    import asyncio

    from workbench.testing import agent_tools

    if forward_to and sandbox_of(api) is None:
        raise usage_error("--forward-to applies only to a sandbox.")
    endpoints = [api.sandbox.register_endpoint(url) for url in forward_to]
    say(f"Serving {api.environment} at {api.host} by the Model Context Protocol; close its input to stop.")
    try:
        asyncio.run(agent_tools.serve(api))
    finally:
        for endpoint in endpoints:
            api.sandbox.remove_endpoint(endpoint.id)
