"""`workbench shell` and `lab`: IPython with the workbench ready; and the same as an IPython extension."""

import argparse
import os
import re
import shlex
import subprocess
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Annotated, Any

from cyclopts import Parameter

from workbench import rendering
from workbench.errors import InvalidRequest, WorkbenchError, visible
from workbench.session import sandbox_of
from workbench.terminal.exits import DONE, Exit, say
from workbench.terminal.where import Where, session

_WHERE = Where()
_BANNER = """api      {api}
sandbox  controls: sandbox.settle(…), sandbox.review(…), sandbox.advance(days=2), sandbox.guide()
inbox    received events: inbox.events()
wb, pd   the workbench, and pandas (loaded when first used)
         %contracts  %authorize  %events  %unknown  %advance 2d
"""


class LazyModule:
    """A module that is loaded when it is first used."""

    def __init__(self, name: str) -> None:
        self.__dict__["_name"] = name

    def __getattr__(self, name: str) -> Any:
        from importlib import import_module

        return getattr(import_module(self.__dict__["_name"]), name)

    def __dir__(self) -> list[str]:
        from importlib import import_module

        return dir(import_module(self.__dict__["_name"]))

    def __repr__(self) -> str:
        return f"<{self.__dict__['_name']}, loaded when first used>"


def shell(
    *,
    code: Annotated[str | None, Parameter(name=("--code", "-c"), help="Run one line and exit.")] = None,
    where: Where = _WHERE,
) -> int:
    """Open IPython with api, sandbox, inbox, wb and pandas ready."""
    from IPython.terminal.interactiveshell import TerminalInteractiveShell

    import workbench

    with session(where) as api:
        make: Any = TerminalInteractiveShell
        made = make.instance(
            user_ns=_names(api, workbench),
            banner1=_BANNER.format(api=repr(api)),
            confirm_exit=False,
            colors="nocolor" if os.environ.get("NO_COLOR") else "neutral",
        )
        made.history_manager.enabled = code is None
        load(made, api)
        if code is not None:
            result = made.run_cell(code)
            return _code(result.error_before_exec or result.error_in_exec)
        made.show_banner()
        made.mainloop()
    return DONE


def _code(error: BaseException | None) -> int:
    from workbench.terminal.exits import exit_code

    if error is None:
        return DONE
    return exit_code(error) if isinstance(error, WorkbenchError) else 1


def _names(api: Any, workbench: Any) -> dict[str, Any]:
    names = {"api": api, "wb": workbench, "pd": LazyModule("pandas")}
    sandbox = sandbox_of(api)
    return names if sandbox is None else {**names, "sandbox": sandbox, "inbox": api.inbox}


def load(ipython: Any, api: Any = None) -> Callable[[], None]:
    """Add the display of records, the magics, and a history without keys to an IPython shell or a notebook kernel.

    Args:
        api: Session of the magics; the shell's variable `api` if omitted.

    Returns:
        A function that removes all of it.
    """
    undo_display = rendering.register(ipython)
    magics = _Magics(ipython, api)
    for name, method in magics.all.items():
        ipython.register_magic_function(getattr(magics, method), "line", name)
    undo_history = _keep_no_keys(ipython)
    matchers = ipython.Completer.custom_matchers
    matcher = _matcher(magics)
    matchers.append(matcher)

    def undo() -> None:
        undo_display()
        undo_history()
        matchers.remove(matcher)
        for name in magics.all:
            ipython.magics_manager.magics["line"].pop(name, None)

    return undo


_UNDO: dict[int, Callable[[], None]] = {}


def load_ipython_extension(ipython: Any) -> None:
    """Load the extension: `%load_ext workbench`."""
    _UNDO[id(ipython)] = load(ipython)


def unload_ipython_extension(ipython: Any) -> None:
    """Unload the extension: `%unload_ext workbench`."""
    _UNDO.pop(id(ipython), lambda: None)()


_OPEN_TEXT = re.compile(r"""(\w+)\s*=\s*["']([^"'\n]*)$""")
_CALL = re.compile(r"""\.(\w+)\((?:[^()]|\([^()]*\))*$""")


def _matcher(magics: "_Magics") -> Callable[[Any], Any]:
    """Return a completer of argument values: choices of the interface, and ids of the sandbox."""
    from IPython.core.completer import SimpleCompletion, context_matcher

    def values(context: Any) -> Any:
        argument, call = _OPEN_TEXT.search(context.text_until_cursor), _CALL.search(context.text_until_cursor)
        if argument is None or call is None:
            return {"completions": []}
        name, begun = argument.groups()
        found = [one for one in _values_of(magics, call[1], name) if one.startswith(begun)]
        return {
            "completions": [SimpleCompletion(one, type="value") for one in found],
            "matched_fragment": begun,
            "suppress": bool(found),
            "ordered": True,
        }

    made: Callable[[Any], Any] = context_matcher()(values)
    return made


def _values_of(magics: "_Magics", operation: str, name: str) -> list[str]:
    from workbench.interface.table import OPERATIONS
    from workbench.interface.walk import Choice
    from workbench.terminal.completion import ids_of
    from workbench.terminal.operations import option_members

    row = OPERATIONS.get(operation)
    one = dict(option_members(row.request)).get(name) if row is not None else None
    if one is not None and isinstance(one.kind, Choice):
        return list(one.kind.of)
    sandbox = magics.sandbox
    return [] if sandbox is None else ids_of(name, sandbox)


def _keep_no_keys(ipython: Any) -> Callable[[], None]:
    """Keep inputs that hold a key out of the history."""
    manager = ipython.history_manager
    usual = manager.store_inputs

    def store_inputs(number: int, source: str, source_raw: str | None = None) -> None:
        if holds_key(source_raw or source):
            source = source_raw = "# omitted: held a key"
        usual(number, source, source_raw)

    manager.store_inputs = store_inputs

    def undo() -> None:
        manager.store_inputs = usual

    return undo


def holds_key(text: str) -> bool:
    """Whether a text holds a key: a literal assigned to a name of keys, or a key in the environment."""
    if re.search(r"""(?i)\b(?:api_?key|secret|password|token)\w*["']?\s*[:=]\s*(?:Key\()?["'][^"']""", text):
        return True
    held = [value for name, value in os.environ.items() if name.startswith("WORKBENCH_") and name.endswith("KEY")]
    return any(value and value in text for value in held)


class _Magics:
    """Line magics for frequent calls."""

    all: Mapping[str, str] = {
        "contracts": "contracts", "authorize": "authorize", "events": "events", "unknown": "unknown_calls",
        "advance": "advance",
    }  # fmt: skip
    """The methods by the names of their magics."""

    def __init__(self, ipython: Any, api: Any) -> None:
        self._ipython = ipython
        self._given = api

    @property
    def _api(self) -> Any:
        found = self._given or self._ipython.user_ns.get("api")
        if found is None:
            raise InvalidRequest("no variable `api`; run `api = wb.connect()` first", of="magic")
        return found

    @property
    def sandbox(self) -> Any:
        """The sandbox of the session, or None."""
        return sandbox_of(self._given or self._ipython.user_ns.get("api"))

    def contracts(self, line: str) -> Any:
        """%contracts: the tenant's contracts."""
        return self._api.list_contracts()

    def authorize(self, line: str) -> Any:
        """%authorize 12.50 [MERCHANT] [--card ID] [--mcc 5411] [--decline REASON]: an authorization in dollars."""
        asked = _read(
            "authorize",
            line,
            ("amount", {}), ("merchant", {"nargs": "?", "default": "Example Shop"}), ("--card", {}),
            ("--mcc", {"default": "5411"}), ("--decline", {}),
        )  # fmt: skip
        return self._api.simulate_authorization(
            card_id=asked.card or self._api.guide()["cards"]["active"][0],
            amount=_cents(asked.amount),
            currency="USD",
            merchant_name=asked.merchant,
            merchant_category_code=asked.mcc,
            decline_reason=asked.decline,
        )

    def events(self, line: str) -> Any:
        """%events [KIND]: the received events."""
        return self._api.inbox.events(line.strip() or None)

    def unknown_calls(self, line: str) -> Any:
        """%unknown: calls with an unknown outcome."""
        return self._api.journal.unknown()

    def advance(self, line: str) -> Any:
        """%advance 2d 3h: move the sandbox's clock."""
        units = {"d": "days", "h": "hours", "m": "minutes", "s": "seconds"}
        steps: dict[str, float] = {}
        for word in line.split():
            if word[-1:] not in units or not word[:-1].replace(".", "", 1).isdigit():
                raise InvalidRequest(
                    f"{visible(word, 40)!r} is not a duration; expected 2d, 3h, 15m or 30s", of="advance"
                )
            steps[units[word[-1]]] = steps.get(units[word[-1]], 0) + float(word[:-1])
        return self._api.sandbox.advance(**steps)


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> Any:
        raise InvalidRequest(visible(message, 200), of=self.prog)


def _read(name: str, line: str, *arguments: tuple[str, dict[str, Any]]) -> Any:
    parser = _Parser(prog=f"%{name}", add_help=False)
    for argument, how in arguments:
        parser.add_argument(argument, **how)
    try:
        words = shlex.split(line)
    except ValueError as error:
        raise InvalidRequest(str(error), of=f"%{name}") from None
    return parser.parse_args(words)


def _cents(text: str) -> int:
    """Return an amount written in dollars as exact cents."""
    from decimal import Decimal, InvalidOperation

    try:
        amount = Decimal(text) * 100
    except InvalidOperation:
        amount = Decimal("NaN")
    if not amount.is_finite() or amount != int(amount):
        raise InvalidRequest(
            f"{visible(text, 40)!r} is not an amount; expected dollars and cents, as 12.50", of="authorize"
        )
    return int(amount)


def lab(notebooks: Annotated[Path | None, Parameter(help="Folder of notebooks.")] = None, /) -> int:
    """Open JupyterLab on a folder of notebooks."""
    from importlib.util import find_spec

    if find_spec("jupyterlab") is None:
        raise Exit(2, "jupyterlab is not installed. Run: pip install 'card-issuing-workbench[lab]'")
    folder = notebooks or (Path("notebooks") if Path("notebooks").is_dir() else Path())
    root = ["--allow-root"] if hasattr(os, "getuid") and os.getuid() == 0 else []
    say(f"Opening JupyterLab on {folder.absolute()}; press Ctrl-C to stop.")
    options = ["--ServerApp.ip=127.0.0.1", "--LabApp.news_url=None", *root]
    return subprocess.run([sys.executable, "-m", "jupyterlab", *options, str(folder)], check=False).returncode
