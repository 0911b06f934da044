"""How a sequence looks in a notebook: a row for each step, private values masked."""

from collections.abc import Iterator, Mapping
from typing import Any

from workbench import rendering
from workbench.errors import visible
from workbench.interface import masks, walk
from workbench.interface.fields import Privacy
from workbench.interface.table import OPERATIONS
from workbench.sequences.steps import Expect, Guide, Param, Ref, Sequence, Step

_LONGEST = 200  # characters of a value


def html(sequence: Sequence) -> str:
    """Return a sequence as HTML: what it is about, and its steps with arguments and expectations."""
    about = {"sequence": sequence.name, "about": sequence.doc or "–", "steps": len(sequence.steps)}
    rows = [
        {
            "step": one.name,
            "do": one.do,
            "with": list(_arguments(one)) or "–",
            "expected": list(_expected(one.do, one.expect)) or "–",
        }
        for one in sequence.steps
    ]
    return rendering.html(about) + rendering.html_table(rows, limit=max(len(rows), 1))


def _arguments(step: Step) -> Iterator[str]:
    private = _private(OPERATIONS[step.do].request if step.do in OPERATIONS else None)
    for name, value in step.arguments.items():
        yield f"{name} = {_shown(value, name in private)}"


def _expected(do: str, expect: Expect) -> Iterator[str]:
    private = _private(OPERATIONS[do].answer if do in OPERATIONS else None)
    for part in ("result", "error", "state", "money"):
        given: Mapping[str, Any] = getattr(expect, part)
        for path, value in given.items():
            hidden = part in {"result", "state"} and path.partition(".")[0] in private
            yield f"{part}.{path} = {_shown(value, hidden)}"
    for wanted in expect.events:
        yield f"event {wanted.kind}"


def _private(record: Any) -> frozenset[str]:
    """Return the members of a record that are private, or hold what may be."""
    if not walk.is_record(record):
        return frozenset()
    leaves = walk.leaves(record)
    return frozenset(path.partition(".")[0] for path, one in leaves if one.about.privacy is not Privacy.OPEN)


def _shown(value: Any, hidden: bool) -> str:
    if isinstance(value, Ref | Guide):
        return f"{type(value).__name__.lower()} {value.path}"
    if isinstance(value, Param):
        return f"param {value.name}"
    return masks.DOTS if hidden or isinstance(value, Mapping | list | tuple) else visible(str(value), _LONGEST)
