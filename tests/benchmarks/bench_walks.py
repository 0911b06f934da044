"""Count the modules of the workbench that a value passes through on six paths, and the conversions by cattrs.

A module sees the value if one of its functions receives or returns the value. A module hands the value on if such a function is
running when the path ends, or returns the value to a function that hands it on. A path through the embedded sandbox ends when the
sandbox receives the value. Each path runs once before the count, so that first uses do not count. A module is only counted as
seeing the value if it runs in a separate task or passes the value to a widget, because no caller receives the value from it.

Run: python -m tests.benchmarks.bench_walks
"""

import asyncio
import contextlib
import io
import json
import os
import sys
import tempfile
import threading
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from itertools import count
from pathlib import Path
from types import FrameType
from typing import Any
from uuid import UUID

import attrs
import cattrs
import httpx
import pytest

import workbench as wb
from tests.test_async_session import every_operation
from workbench.terminal import main as command

_ROOT = Path(wb.__file__).parent
_VALUE = 7_654_321
_TEXT = str(_VALUE)


def _holds(x: Any, depth: int = 6) -> bool:
    """Return whether the value is in x, which may be a number, a text, a container, a record or a table."""
    if isinstance(x, str):
        return _TEXT in x
    if isinstance(x, bytes):
        return _TEXT.encode() in x
    if isinstance(x, bool) or x is None or depth == 0:
        return False
    if type(x).__name__ in {"DataFrame", "Series"}:
        return _TEXT in x.to_csv()
    if hasattr(type(x), "to_pylist"):  # the value may be in an Arrow table or array
        return _TEXT in str(x.to_pylist())
    if isinstance(x, Mapping):
        x = x.values()
    elif attrs.has(type(x)):
        x = [getattr(x, field.name, None) for field in attrs.fields(type(x))]
    elif type(x).__module__.startswith("workbench") and depth > 4 and hasattr(x, "__dict__"):
        x, depth = vars(x).values(), 4  # search these attributes, but no workbench objects inside them
    elif not isinstance(x, list | tuple):
        return not callable(x) and str(x) == _TEXT if type(x).__module__ in {"builtins", "decimal"} else False
    return any(_holds(one, depth - 1) for one in list(x)[:100])


def _callers(frame: FrameType | None) -> Iterator[FrameType]:
    """Yield the running frames of the workbench, innermost first."""
    while frame is not None:
        if frame.f_code.co_filename.startswith(f"{_ROOT}{os.sep}"):
            yield frame
        frame = frame.f_back


def _place(frame: FrameType) -> str:
    return str(Path(frame.f_code.co_filename).relative_to(_ROOT))


def modules(walk: Callable[[], object]) -> tuple[list[str], list[str]]:
    """Return the modules that see the value on a path, in order, and the subset that hands the value on."""
    seen: dict[str, None] = {}
    returns: list[tuple[FrameType, FrameType | None]] = []  # frames that returned the value, each with its caller
    carriers: set[FrameType | None] = {None}  # None: the code of the walk, outside the workbench

    def see(frame: FrameType, event: str, returned: Any) -> None:
        found = _callers(frame)
        if event not in {"call", "return"} or next(found, None) is not frame or len(carriers) > 1:
            return
        names = frame.f_code.co_varnames[: frame.f_code.co_argcount + frame.f_code.co_kwonlyargcount + 2]
        if _holds([frame.f_locals.get(name) for name in names] if event == "call" else returned):
            if _place(frame).startswith("sandbox"):
                carriers.update(found)
                return
            seen.setdefault(_place(frame))
            if event == "return":
                returns.append((frame, next(found, None)))

    walk()
    threading.setprofile(see)
    sys.setprofile(see)
    try:
        walk()
    finally:
        sys.setprofile(None)
        threading.setprofile(None)
    if len(carriers) > 1:
        carriers.remove(None)  # the value entered the sandbox, so the walk did not end in its own code
    for frame, caller in reversed(returns):
        if caller in carriers:
            carriers.add(frame)
    handing = {_place(frame) for frame in carriers if frame is not None}
    return [*seen], [place for place in seen if place in handing]


def walks() -> Iterator[tuple[str, Callable[[], object]]]:
    """Yield the name of each path, and the function that runs it."""
    api = wb.connect()
    card = api.sandbox.guide()["cards"]["active"][0]
    bought = api.simulate_authorization(
        card_id=card, amount=100, currency="USD", merchant_name="A", merchant_category_code="5411"
    )
    refund = {"transaction_id": bought.transaction_id, "amount": _VALUE}

    def pay_back() -> None:
        with contextlib.suppress(wb.ApiError):
            api.simulate_refund(**refund)

    yield "a refund's amount to the wire", pay_back

    typed = wb.form(api.simulate_refund).view.inputs.fields["amount"].input

    def type_amount() -> None:
        typed.value = "1"
        typed.value = _TEXT

    yield "a form's key stroke", type_amount

    inbox = wb.Inbox(accept_unsigned=True)
    body = {"id": "9b26cf74-10af-42ce-bea3-5d52ed4a93c6", "referenceId": _TEXT, "amount": "0.45", "rail": "ach"}

    def receive() -> Any:
        event = {
            "id": str(UUID(int=len(inbox.events()))),
            "resource": "microDeposit",
            "action": "received",
            "body": body,
        }
        inbox.receive({"content-type": "application/json"}, json.dumps(event).encode())
        return wb.to_frame(inbox.events())

    yield "a webhook's body to a frame", receive

    handled = wb.Inbox(accept_unsigned=True)
    handled.on("microDeposit.received")(lambda event: None)
    ids = count(1)

    def handle() -> None:
        event = {"id": str(UUID(int=next(ids))), "resource": "microDeposit", "action": "received", "body": body}
        handled.receive({"content-type": "application/json"}, json.dumps(event).encode())

    yield "a webhook's body to its handler", handle

    words = f"transactions refund --transaction-id {bought.transaction_id} --amount {_VALUE} --fresh"

    def run() -> None:
        with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
            command(words.split())

    yield "an option of a command to the request", run

    page = {"items": [{"type": "earned", "id": "r", "points": _TEXT, "createdAt": "2026-01-15T12:00:00Z"}]}
    service = httpx.MockTransport(lambda _: httpx.Response(200, json=page))
    client = wb.Client(
        base_url="https://api.example.com/v1", api_key="a-key-of-a-benchmark", transport=service, journal=False
    )
    yield "a rewards page to a frame", lambda: wb.rewards.fetch(client, [str(UUID(int=1))], progress=False)


def conversions() -> Counter[str]:
    """Return how often cattrs structures and unstructures a value if each operation is called once."""
    asked: Counter[str] = Counter()

    def counted(name: str) -> Callable[..., Any]:
        real = getattr(cattrs.BaseConverter, name)

        def convert(*args: Any, **options: Any) -> Any:
            asked[name] += 1
            return real(*args, **options)

        return convert

    async def run() -> None:
        async with await wb.connect_async() as api:
            await every_operation(api)

    with pytest.MonkeyPatch.context() as patch:
        for name in ("structure", "unstructure"):
            patch.setattr(cattrs.BaseConverter, name, counted(name))
        asyncio.run(run())
    return asked


def main() -> None:
    """Print each path with its modules, and the conversions."""
    for name, walk in walks():
        seen, handing = modules(walk)
        print(f"{name}: {len(seen)} modules see the value\n    {', '.join(seen)}")
        if handing:
            print(f"    {len(handing)} hand it on: {', '.join(handing)}")
    asked = conversions()
    print(
        f"calls through cattrs in a run of all operations: {asked['structure']} structure, {asked['unstructure']} unstructure"
    )


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as state:
        os.environ["WORKBENCH_STATE"] = state
        main()
