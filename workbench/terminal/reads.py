"""Reads that are more than one call."""

from collections import defaultdict
from decimal import Decimal
from typing import Annotated

from cyclopts import Parameter

from workbench.errors import InvalidRequest
from workbench.interface.checks import problems
from workbench.interface.rewards import ListRewardsActivity
from workbench.interface.walk import build
from workbench.terminal.ends import DONE, say
from workbench.terminal.operations import all_pages
from workbench.terminal.output import Output, show
from workbench.terminal.where import Where, session

_WHERE, _HOW = Where(), Output()


def rewards(
    user_id: Annotated[str, Parameter(help="User whose activity is read.")],
    /,
    *,
    kind: Annotated[str | None, Parameter(name="--type", help="Only earned, or only redeemed items.")] = None,
    where: Annotated[Where, Parameter(name="*")] = _WHERE,
    how: Annotated[Output, Parameter(name="*")] = _HOW,
) -> int:
    """Read a user's rewards activity, all pages, and say the exact sums."""
    request = build(ListRewardsActivity, {"user_id": user_id, "type": kind})
    found = problems(request)
    if found:
        raise InvalidRequest(found, of="list_rewards_activity")
    with session(where) as api:
        items = all_pages(api, request)
    sums: defaultdict[str, Decimal] = defaultdict(Decimal)
    for item in items:
        if isinstance(item.points, Decimal):
            sums[str(item.type)] += item.points
    show(items, how)
    said = ", ".join(f"{format(points, ',f')} points {name}" for name, points in sorted(sums.items()))
    say(f"{len(items):,} items" + (f": {said}" if said else ""))
    return DONE
