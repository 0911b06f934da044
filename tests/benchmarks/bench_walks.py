"""How many modules of the workbench a value passes through, on five walks; and how many conversions are made by cattrs.

A module sees the value where a function of it is given the value or returns it; it hands the value on where such a function is under
way when the walk ends, or returns the value to one that hands it on. A walk through the embedded sandbox ends where the sandbox is given
the value. Each is gone once before it is counted, so that first uses do not count. What goes on in a task of its own, or ends in a
widget, has no one to hand the value to, and is only seen.

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
    """Say whether the value is in x: in numbers and text, in what they are kept in, in records and tables."""
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
        x, depth = vars(x).values(), 4  # not nested workbench objects
    elif not isinstance(x, list | tuple):
        return not callable(x) and str(x) == _TEXT if type(x).__module__ in {"builtins", "decimal"} else False
    return any(_holds(one, depth - 1) for one in list(x)[:100])


def _callers(frame: FrameType | None) -> Iterator[FrameType]:
    """Yield the frames of the workbench that are under way, the innermost first."""
    while frame is not None:
        if frame.f_code.co_filename.startswith(f"{_ROOT}{os.sep}"):
            yield frame
        frame = frame.f_back


def _place(frame: FrameType) -> str:
    return str(Path(frame.f_code.co_filename).relative_to(_ROOT))


def modules(walk: Callable[[], object]) -> tuple[list[str], list[str]]:
    """Return the modules that see the value on a walk, in that order, and those of them that hand it on."""
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
    """Yield the walks, each with what it is called."""
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
    """Return how often cattrs is asked to read or write something while each operation is called once."""
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
    """Print each walk with its modules, and the conversions."""
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
