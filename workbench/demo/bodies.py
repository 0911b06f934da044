"""Request bodies and recorded answers in files, from a folder of the user or from this package.

`<operation>.request[.<variant>].json` is a request, `<operation>.<status>[.<variant>].json` an answer, and
`error.<status>.<case>.json` an error body.
"""

import re
from collections.abc import Iterator, Mapping
from importlib.resources import files
from importlib.resources.abc import Traversable
from pathlib import Path
from types import MappingProxyType
from typing import Any

import attrs

from workbench.errors import InvalidRequest, Problem, visible
from workbench.interface import strict_json
from workbench.interface.checks import problems
from workbench.interface.convert import converter
from workbench.interface.table import OPERATIONS
from workbench.interface.walk import member, members

_NAME = re.compile(r"(?P<of>\w+)\.(?:(?P<request>request)|(?P<status>[1-5][0-9]{2}))(?:\.(?P<variant>[\w.-]+))?\.json")
_MAX_BYTES = 1_000_000


@attrs.frozen(kw_only=True)
class Body:
    """One file: what it belongs to, and its bytes. `status` is None for a request."""

    name: str
    of: str  # an operation, or "error"
    status: int | None
    variant: str
    data: bytes = attrs.field(repr=False)
    own: bool  # whether it comes with this package


class Bodies:
    """The files of a folder, and those of the package where the folder has none."""

    def __init__(self, folder: Path | None = None) -> None:
        """Read the folder's files.

        Raises:
            InvalidRequest: The folder does not exist, or a file in it is too large.
        """
        if folder is not None and not folder.is_dir():
            raise InvalidRequest(f"{visible(str(folder), 200)} is not a folder", of="demo")
        self.folder = folder
        self.own = tuple(_read(files("workbench.demo") / "bodies", own=True))
        self.found = tuple(_read(folder, own=False)) if folder is not None else ()

    def request(self, operation: str, *variants: str) -> Body:
        """Return a request body: the first of the variants found, else any of the operation, else the package's."""
        for held in (self.found, self.own):
            mine = [body for body in held if body.of == operation and body.status is None]
            ranked = sorted(mine, key=lambda body: (_rank(body.variant, variants), body.name))
            if ranked:
                return ranked[0]
        raise InvalidRequest(f"no request body of {operation}", of="demo")

    def answers(self) -> tuple[Body, ...]:
        """Return the answers and error bodies of the folder, or those of the package if it has none."""
        found = tuple(body for body in self.found if body.status is not None)
        return found or tuple(body for body in self.own if body.status is not None)


def _rank(variant: str, variants: tuple[str, ...]) -> int:
    return variants.index(variant) if variant in variants else len(variants)


def _read(folder: Traversable | Path, own: bool) -> Iterator[Body]:
    for entry in sorted(folder.iterdir(), key=lambda entry: entry.name):
        match = _NAME.fullmatch(entry.name)
        if match is None or not entry.is_file() or (match["of"] not in OPERATIONS and match["of"] != "error"):
            continue
        data = entry.read_bytes()
        if len(data) > _MAX_BYTES:
            raise InvalidRequest(f"{entry.name} is larger than {_MAX_BYTES:,} bytes", of="demo")
        yield Body(
            name=entry.name,
            of=match["of"],
            status=int(match["status"]) if match["status"] else None,
            variant=match["variant"] or "",
            data=data,
            own=own,
        )


@attrs.frozen
class Fitted:
    """A request made from a body, and the ids in it that were replaced because they do not exist in the sandbox."""

    request: Any
    replaced: tuple[str, ...]


def fitted(
    body: Body, known: frozenset[str], stand_ins: Mapping[str, str], owners: Mapping[str, str] = MappingProxyType({})
) -> Fitted:
    """Read a request body, and replace ids that do not exist in the sandbox.

    Args:
        known: All ids of the sandbox.
        stand_ins: Ids of the sandbox by attribute name, as `card_id`.
        owners: Attribute names to use another for in this tenant, as `user_id` for `company_id`.

    Raises:
        InvalidRequest: The body breaks the interface's rules; all problems are named.
    """
    operation = OPERATIONS[body.of]
    raw = strict_json.loads(body.data)
    replaced = []
    for one in members(operation.request):
        if one.about.rule.format != "uuid" or one.wire not in raw or raw[one.wire] in known:
            continue
        name = owners.get(one.name, one.name)
        if name in stand_ins:
            del raw[one.wire]
            raw[member(operation.request, name).wire] = stand_ins[name]
            replaced.append(one.wire)
    request, mistyped, unknown = converter().read_request(operation, raw)
    found = [*mistyped, *(problems(request) if request is not None else ())]
    found += [Problem(path, "unknown", "is not a member of this operation") for path in unknown]
    if found:
        raise InvalidRequest(found, of=f"{operation.name} in {body.name}")
    return Fitted(request, tuple(replaced))
