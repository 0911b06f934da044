"""Approaches: how a learner solved an exercise, as calls and controls with references in place of ids and values.

Learners with equal lines solved it the same way, whichever tool sent the calls.
"""

from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

from workbench.base.schema import walk
from workbench.base.schema.rules import UUID
from workbench.client.calls.effects import Outcome
from workbench.runs.sequences.reading import CONTROLLED
from workbench.runs.sequences.sequence import Ref, Step
from workbench.sandbox import Sandbox
from workbench.sandbox.control_records import RequestEntry, SandboxEvent
from workbench.service.interface.table import OPERATIONS, PREFIX
from workbench.testing.generated import JournalReader

_AGAIN = ", again"


def mark(sandbox: Sandbox) -> tuple[int, int]:
    """Return what the sandbox received so far: the number of its last change, and of the requests since.

    An exercise that begins now is solved by what comes after the mark.
    """
    numbers = _numbers(sandbox)
    reads = 0
    for entry in reversed(sandbox.requests(all_tenants=True)):
        if entry.request_id in numbers:
            break
        reads += 1
    return len(numbers), reads


def _numbers(sandbox: Sandbox) -> dict[str, int]:
    """Return the numbers of the requests and controls that changed a record, by request id."""
    engine = sandbox._engine
    last = int(engine.store.get("counter", "request") or 0)
    return {engine.seeds.uuid(f"request:{number}"): number for number in range(1, last + 1)}


def approach(sandbox: Sandbox, after: tuple[int, int] = (0, 0)) -> str:
    """Return what was called after a mark as lines, in order, separated by semicolons.

    Left out are reads where a call had an effect, and a refused call where its operation was done later. Equal lines
    in a row are one line. Values are left out, except references to earlier answers and the names of choices.

    Args:
        sandbox: The learner's sandbox.
        after: `mark` when the exercise was begun.
    """
    reader, calls = JournalReader(), _calls(sandbox, after)
    done_later = {call.operation: place for place, call in enumerate(calls) if call.outcome is Outcome.DONE}
    writes = any(call.changes for call in calls)
    lines: list[str] = []
    for place, call in enumerate(calls):
        refused_before = call.outcome is Outcome.REFUSED and done_later.get(call.operation, 0) > place
        steps = [*(reader.control(call.operation, call.record) if call.operation in CONTROLLED else reader.steps(call))]
        if refused_before or (writes and not call.changes):
            continue
        for line in map(_line, steps):
            if lines and lines[-1].removesuffix(_AGAIN) == line:
                lines[-1] = line + _AGAIN
            else:
                lines.append(line)
    return "; ".join(lines)


def _calls(sandbox: Sandbox, after: tuple[int, int]) -> list[Any]:
    """Return the requests and the controls after a mark, in the order of the changes they made."""
    numbers, log = _numbers(sandbox), sandbox.requests(all_tenants=True)
    changes, reads = after
    earlier = [
        place for place, entry in enumerate(log, 1) if numbers.get(entry.request_id or "", changes + 1) <= changes
    ]
    calls: list[tuple[int, Any]] = []
    number = changes
    for entry in log[max(earlier, default=0) + reads :]:
        number = numbers.get(entry.request_id or "", number)
        if entry.operation is not None and entry.fault is None:
            calls.append((number, _call(entry)))
    controls = {event.request_id: event for event in reversed(sandbox.events()) if event.cause in CONTROLLED}
    calls += [(numbers[id_], _control(event)) for id_, event in controls.items() if numbers.get(id_, 0) > changes]
    return [call for _, call in sorted(calls, key=lambda numbered: numbered[0])]


def _call(entry: RequestEntry) -> Any:
    operation = OPERATIONS[entry.operation or ""]
    sent = {**(entry.body or {}), **(operation.in_path((entry.path or "").removeprefix(PREFIX)) or {})}
    return SimpleNamespace(
        operation=operation.name,
        outcome=Outcome.DONE if entry.status < 300 else Outcome.REFUSED,
        status=entry.status,
        request={name: _plain(value) for name, value in sent.items()},
        answer=entry.answer,
        changes=operation.effect is not None,
    )


def _plain(value: object) -> object:
    """Return an id in lower case, as answers have it; other values unchanged."""
    return value.lower() if isinstance(value, str) and UUID.fullmatch(value.lower()) else value


def _control(event: SandboxEvent) -> Any:
    record = str(event.payload["body"].get("id", ""))
    return SimpleNamespace(operation=event.cause, outcome=Outcome.DONE, record=record, changes=True)


def _line(step: Step) -> str:
    arguments = ", ".join(_arguments(step))
    status = {**step.expect.result, **(step.expect.error or {})}.get("status")
    return step.do + (f"({arguments})" if arguments else "") + (f" → {status}" if status else "")


def _arguments(step: Step) -> Iterator[str]:
    """Yield the references, and the names of the choices."""
    operation = OPERATIONS.get(step.do)
    choices = {
        member.name
        for member in (walk.members(operation.request) if operation else ())
        if isinstance(member.kind, walk.Choice)
    }
    for name, value in sorted(step.arguments.items()):
        if isinstance(value, Ref):
            yield f"{name}={value.path}"
        elif name in choices and name != "currency":
            yield name
