"""Reads of any size at a prompt."""

from collections import defaultdict
from collections.abc import Sequence
from decimal import Decimal
from pathlib import Path
from typing import Annotated, Any

from cyclopts import Parameter

from workbench import rendering
from workbench.errors import visible
from workbench.interface.walk import camel
from workbench.terminal.ends import DONE, PARTLY, say, wrong
from workbench.terminal.output import Output, show
from workbench.terminal.where import Where, session

_WHERE, _HOW = Where(), Output()


def rewards(
    *users: Annotated[str, Parameter(help="Users whose activity is read.")],
    kind: Annotated[str | None, Parameter(name="--type", help="Only earned, or only redeemed items.")] = None,
    save: Annotated[Path | None, Parameter(help="Write them to this .csv, .xlsx or .parquet file.")] = None,
    path: Annotated[
        Path | None, Parameter(help="Keep what is read in this folder meanwhile; the same command goes on there.")
    ] = None,
    where: Annotated[Where, Parameter(name="*")] = _WHERE,
    how: Annotated[Output, Parameter(name="*")] = _HOW,
) -> int:
    """Read the rewards activity of users, all pages of each, and say the exact sums.

    The interface gives no totals: exit code 5 says that not all of it can be here, and stderr says why.
    """
    if not users:
        raise wrong("rewards takes the ids of users.")
    with session(where) as api:
        return told(api, users, kind, how, save=save, path=path)


def told(
    api: Any, users: Sequence[str], kind: str | None, how: Output, *, save: Path | None = None, path: Path | None = None
) -> int:
    """Read the activity of users, show or save it, and say what is to be known of it."""
    from workbench import tables

    found = tables.read_rewards(api, users, type=kind, path=path)
    frame = found.frame()
    if save is not None:
        try:
            say(str(tables.export(frame, save)))
        except FileExistsError:
            raise wrong(f"{visible(str(save), 200)} exists; it is not written over.") from None
        except ValueError as slip:
            raise wrong(visible(str(slip), 300)) from None
    else:
        show(_rows(frame, many=len(users) > 1, for_people=how.output == "table" and not how.fields), how)
    for note in found.notes:
        say(visible(note))
    say(f"{found.rows:,} items{_sums(frame)}")
    return DONE if found.complete else PARTLY


def _rows(frame: Any, *, many: bool, for_people: bool) -> list[dict[str, Any]]:
    """Return the rows of a frame without what is missing, by wire names for programs."""
    columns = [name for name in frame.columns if many or name != "user_id"]
    held = frame[columns].astype(object).where(frame[columns].notna(), None)
    return [
        {name if for_people else camel(name): _value(name, value, for_people) for name, value in row.items() if value is not None}
        for row in held.to_dict("records")
    ]  # fmt: skip


def _value(name: str, value: Any, for_people: bool) -> Any:
    if isinstance(value, Decimal):
        return value.quantize(Decimal(1)) if value == value.to_integral_value() else value.normalize()
    if name == "transaction_amount_cents":
        return rendering.money(int(value)) if for_people else int(value)
    return value.to_pydatetime() if hasattr(value, "to_pydatetime") else str(value)


def _sums(frame: Any) -> str:
    sums: defaultdict[str, Decimal] = defaultdict(Decimal)
    for kind, points in zip(frame["type"], frame["points"], strict=True):
        if isinstance(points, Decimal):
            sums[str(kind)] += points
    said = [f"{format(points.normalize(), ',f')} points {kind}" for kind, points in sorted(sums.items())]
    return f": {', '.join(said)}" if said else ""
