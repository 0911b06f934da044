"""Recorded answers, read by the client, written again, and compared with the original."""

from collections.abc import Iterable
from typing import Any

import attrs

from workbench.client.client import Client
from workbench.client.pace import Clock
from workbench.demo.bodies import Body
from workbench.errors import ApiError, InvalidRequest, Problem, WorkbenchError
from workbench.interface import checks, strict_json
from workbench.interface.convert import converter
from workbench.interface.operation import Operation
from workbench.interface.table import LIST_CONTRACTS, OPERATIONS, UPDATE_DISPUTE
from workbench.interface.walk import build, members
from workbench.sandbox import Request, Response
from workbench.sandbox.transport import SandboxTransport

_NOWHERE = "https://answers.workbench.invalid/v1"
_ID = "00000000-0000-4000-8000-000000000000"


@attrs.frozen
class Reading:
    """What a file was read as, and remarks about it."""

    body: Body
    read_as: str
    remarks: tuple[str, ...]


class _NoWait(Clock):
    """A clock that does not wait between retries."""

    def sleep(self, seconds: float) -> None:
        """Return at once."""


def read_all(bodies: Iterable[Body]) -> list[Reading]:
    """Read every answer and error body.

    Raises:
        InvalidRequest: A file cannot be read, or is written differently; the files are named.
    """
    readings, problems = [], []
    for body in bodies:
        try:
            readings.append(_read(body))
        except (ValueError, WorkbenchError) as error:
            problems.append(Problem(body.name, "read", str(error).split("\n")[0] or "differs when written again"))
    if problems:
        raise InvalidRequest(problems, of="demo")
    return readings


def _read(body: Body) -> Reading:
    assert body.status is not None
    raw = strict_json.loads(body.data)
    if body.of == "error" or body.status >= 400:
        return _refusal(body, raw)
    operation = OPERATIONS[body.of]
    answer = _ask(operation, body)
    many = answer if operation.many else [answer]
    again = [converter().unstructure(one) for one in many]
    if strict_json.loads(strict_json.dumps(again if operation.many else again[0])) != raw:
        raise ValueError("differs when written again")
    remarks = tuple(dict.fromkeys(f"{flag.path} {flag.message}" for one in many for flag in checks.flags(one)))
    name = operation.answer.__name__
    return Reading(body, f"{len(many)} × {name}" if operation.many else name, remarks)


def _refusal(body: Body, raw: Any) -> Reading:
    assert body.status is not None
    # A 5xx to a call with an effect is an unknown outcome; to a read it is an error of its own.
    operation = LIST_CONTRACTS if body.status >= 500 else UPDATE_DISPUTE
    try:
        _ask(operation, body)
    except ApiError as error:
        if error.body != raw or error.status != body.status:
            raise ValueError("differs when written again") from None
        missing = [name for name in ("statusCode", "error", "message") if name not in raw]
        more = [name for name in raw if name not in {"statusCode", "error", "message"}]
        remarks = [f"has no {', '.join(missing)}"] * bool(missing) + [f"has {', '.join(more)} in addition"] * bool(more)
        return Reading(body, type(error).__name__, tuple(remarks))
    raise ValueError("is not read as an error")


def _ask(operation: Operation[..., Any], body: Body) -> Any:
    def answer(_: Request) -> Response:
        return Response(body.status or 200, {"content-type": "application/json"}, body.data)

    client = Client(
        base_url=_NOWHERE, api_key="not-a-key", transport=SandboxTransport(answer), check=False, journal=False,
        clock=_NoWait(),
    )  # fmt: skip
    with client:
        return client.send(build(operation.request, _required(operation)))


def _required(operation: Operation[..., Any]) -> dict[str, Any]:
    return {one.name: _ID for one in members(operation.request) if one.required and one.about.rule.format == "uuid"}
