"""Bodies on disk: requests to send and answers to read, from a folder of the user's, or from this package.

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
_LARGEST = 1_000_000


@attrs.frozen(kw_only=True)
class Body:
    """One file: what it belongs to, and its bytes. `status` is None for a request."""

    name: str
    of: str  # an operation, or "error"
    status: int | None
    variant: str
    data: bytes = attrs.field(repr=False)
    own: bool  # whether it came with this package


class Bodies:
    """All bodies of a folder, and behind them those of the package."""

    def __init__(self, folder: Path | None = None) -> None:
        """Read the folder's files.

        Raises:
            InvalidRequest: The folder is not there, or a file in it is too large.
        """
        if folder is not None and not folder.is_dir():
            raise InvalidRequest(f"{visible(str(folder), 200)} is not a folder", of="demo")
        self.folder = folder
        self.own = tuple(_read(files("workbench.demo") / "bodies", own=True))
        self.found = tuple(_read(folder, own=False)) if folder is not None else ()

    def request(self, operation: str, *variants: str) -> Body:
        """Return a request body: of the variants the first that is there, else any of the operation, else the package's."""
        for held in (self.found, self.own):
            mine = [body for body in held if body.of == operation and body.status is None]
            ranked = sorted(mine, key=lambda body: (_rank(body.variant, variants), body.name))
            if ranked:
                return ranked[0]
        raise InvalidRequest(f"no request body of {operation} is at hand", of="demo")

    def answers(self) -> tuple[Body, ...]:
        """Return the answers and error bodies of the folder; those of the package where there is none."""
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
        if len(data) > _LARGEST:
            raise InvalidRequest(f"{entry.name} is larger than {_LARGEST:,} bytes", of="demo")
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
    """A request made from a body, and which of its ids were replaced because the world here does not know them."""

    request: Any
    replaced: tuple[str, ...]


def fitted(
    body: Body, known: frozenset[str], stand_ins: Mapping[str, str], owners: Mapping[str, str] = MappingProxyType({})
) -> Fitted:
    """Read a request body, with ids that the seeded world does not know replaced.

    Args:
        known: Every id the world knows.
        stand_ins: Ids of the world by attribute name, as `card_id`.
        owners: Attribute names that stand for another in this tenant, as `company_id` for `user_id`.

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
    found += [Problem(path, "unknown", "is a member the interface does not know") for path in unknown]
    if found:
        raise InvalidRequest(found, of=f"{operation.name} in {body.name}")
    return Fitted(request, tuple(replaced))
