"""Request bodies and recorded answers in files, from a folder of the user or from this package.

`<operation>.request[.<variant>].json` is a request, `<operation>.<status>[.<variant>].json` an answer, and
`error.<status>.<case>.json` an error body.
"""

import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from importlib.resources import files
from importlib.resources.abc import Traversable
from pathlib import Path
from typing import Any

import attrs

from workbench.client.client import Client
from workbench.client.pace import Clock
from workbench.errors import ApiError, InvalidRequest, Problem, WorkbenchError, visible
from workbench.interface import checks, strict_json
from workbench.interface.convert import converter
from workbench.interface.table import OPERATIONS, Operation, Operations
from workbench.interface.walk import build, member, members
from workbench.sandbox import Response
from workbench.sandbox.transport import SandboxTransport

_NAME = re.compile(r"(?P<of>\w+)\.(?:request|(?P<status>[1-5][0-9]{2}))(?:\.(?P<variant>[\w.-]+))?\.json")
_MAX_BYTES = 1_000_000
_ID = "00000000-0000-4000-8000-000000000000"


@attrs.frozen(kw_only=True)
class Body:
    """One file: what it belongs to, and its bytes. `status` is 0 for a request."""

    name: str
    of: str  # an operation, or "error"
    status: int
    variant: str
    data: bytes = attrs.field(repr=False)
    origin: str  # "this package", or the folder


class Bodies:
    """The files of a folder, and those of the package where the folder has none."""

    def __init__(self, folder: Path | None = None) -> None:
        """Read the folder's files.

        Raises:
            InvalidRequest: The folder does not exist, or a file in it is too large.
        """
        if folder is not None and not folder.is_dir():
            raise InvalidRequest(f"{visible(str(folder), 200)} is not a folder", of="demo")
        self._own = tuple(_read(files("workbench.demo") / "bodies", "this package"))
        self._found = tuple(_read(folder, visible(str(folder), 200))) if folder is not None else ()

    def request(self, operation: str, *variants: str) -> Body:
        """Return a request body: the first of the variants found, else any of the operation, else the package's."""
        for bodies in (self._found, self._own):
            requests = [body for body in bodies if body.of == operation and not body.status]
            if requests:
                return min(requests, key=lambda body: (*variants, body.variant).index(body.variant))
        raise InvalidRequest(f"no request body of {operation}", of="demo")

    def answers(self) -> tuple[Body, ...]:
        """Return the answers and error bodies of the folder, or those of the package if it has none."""
        found = tuple(body for body in self._found if body.status)
        return found or tuple(body for body in self._own if body.status)


def _read(folder: Traversable | Path, origin: str) -> Iterator[Body]:
    for entry in sorted(folder.iterdir(), key=lambda entry: entry.name):
        match = _NAME.fullmatch(entry.name)
        if match is None or not entry.is_file() or match["of"] not in {*OPERATIONS, "error"}:
            continue
        data = entry.read_bytes()
        if len(data) > _MAX_BYTES:
            raise InvalidRequest(f"{entry.name} is larger than {_MAX_BYTES:,} bytes", of="demo")
        status = int(match["status"] or 0)
        yield Body(
            name=entry.name, of=match["of"], status=status, variant=match["variant"] or "", data=data, origin=origin
        )


def fitted(body: Body, known: Collection[str], stand_ins: Mapping[str, str]) -> tuple[Any, list[str]]:
    """Return the request of a body, and the members whose ids do not exist in the sandbox and were replaced.

    Args:
        body: A request body.
        known: All ids of the sandbox.
        stand_ins: Ids of the sandbox by attribute name, as `card_id`.

    Raises:
        InvalidRequest: The body breaks the interface's rules; all problems are named.
    """
    operation = OPERATIONS[body.of]
    raw = strict_json.loads(body.data)
    replaced = []
    for one in members(operation.request):
        # The tenant has individual teams, so what a company owns elsewhere belongs to a user here.
        name = "user_id" if one.name == "company_id" else one.name
        held = raw.get(one.wire)
        if one.about.rule.format == "uuid" and held is not None and held not in known and name in stand_ins:
            del raw[one.wire]
            raw[member(operation.request, name).wire] = stand_ins[name]
            replaced.append(one.wire)
    request, mistyped, unknown = converter().read_request(operation, raw)
    found = [*mistyped, *(checks.problems(request) if request is not None else ())]
    found += [Problem(path, "unknown", "is not a member of this operation") for path in unknown]
    if found:
        raise InvalidRequest(found, of=f"{operation.name} in {body.name}")
    return request, replaced


def read_all(bodies: Iterable[Body]) -> list[dict[str, str]]:
    """Read every answer and error body with the client, write it again, and compare it with the original.

    Returns:
        A row of a table for each: its file, what it was read as, and remarks about it.

    Raises:
        InvalidRequest: A file cannot be read, or is written differently; the files are named.
    """
    rows, problems = [], []
    for body in bodies:
        try:
            raw = strict_json.loads(body.data)
            read_as, remarks = _refusal(body, raw) if body.of == "error" or body.status >= 400 else _answer(body, raw)
            rows.append({"file": body.name, "read as": read_as, "remarks": "; ".join(remarks[:2]) or "–"})
        except (ValueError, WorkbenchError) as error:
            problems.append(Problem(body.name, "read", str(error).split("\n")[0]))
    if problems:
        raise InvalidRequest(problems, of="demo")
    return rows


def _answer(body: Body, raw: Any) -> tuple[str, list[str]]:
    operation = OPERATIONS[body.of]
    answer = _received(operation, body)
    records = answer if operation.many else [answer]
    again = [converter().unstructure(one) for one in records]
    if strict_json.loads(strict_json.dumps(again if operation.many else again[0])) != raw:
        raise ValueError("differs when written again")
    name = operation.answer.__name__
    remarks = dict.fromkeys(f"{flag.path} {flag.message}" for one in records for flag in checks.flags(one))
    return f"{len(records)} × {name}" if operation.many else name, list(remarks)


def _refusal(body: Body, raw: Any) -> tuple[str, list[str]]:
    try:  # a 5xx to a call with an effect is an unknown outcome; to a read it is an error of its own
        _received(Operations.list_contracts if body.status >= 500 else Operations.update_dispute, body)
    except ApiError as error:
        if error.body != raw or error.status != body.status:
            raise ValueError("differs when written again") from None
        usual = ("statusCode", "error", "message")
        missing, more = (", ".join(name for name in a if name not in b) for a, b in ((usual, raw), (raw, usual)))
        return type(error).__name__, [f"has no {missing}"] * bool(missing) + [f"also has {more}"] * bool(more)
    raise ValueError("is not read as an error")


class _NoWait(Clock):
    """A clock that does not wait between retries."""

    def sleep(self, seconds: float) -> None:
        """Return at once."""


def _received(operation: Operation[..., Any], body: Body) -> Any:
    """Return what a client makes of an answer."""
    response = Response(body.status, {"content-type": "application/json"}, body.data)
    with Client(
        base_url="https://answers.workbench.invalid/v1", api_key="not-a-key", transport=SandboxTransport(lambda _: response),
        check=False, journal=False, clock=_NoWait(),
    ) as client:  # fmt: skip
        ids = {one.name: _ID for one in members(operation.request) if one.required and one.name.endswith("_id")}
        return client.send(build(operation.request, ids))
