"""Who and what takes part in the tour, and how a body on disk is made to fit the seeded world."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import attrs

from workbench.demo.bodies import Bodies, Fitted, fitted
from workbench.demo.stage import Stage
from workbench.errors import visible
from workbench.interface import masks
from workbench.session import Session


@attrs.frozen(kw_only=True)
class Cast:
    """Who and what takes part: a session, its guide, and the bodies."""

    api: Session
    guide: Mapping[str, Any]
    bodies: Bodies
    out: Path


def fit(cast: Cast, body: Any) -> Fitted:
    """Read a body, its ids replaced where the seeded world does not know them."""
    stand_ins = {"card_id": first(cast.guide["cards"]["active"]), "user_id": first(cast.guide["users"]["approved"])}
    here = {name: held for name, held in cast.guide.items() if name != "tenants"}  # those of others are not found
    # The tenant of the tour has individual teams, so what a company owns elsewhere belongs to a user here.
    return fitted(body, frozenset(_ids(here)), stand_ins, {"company_id": "user_id"})


def _ids(x: Any) -> list[str]:
    if isinstance(x, str):
        return [x]
    if isinstance(x, Mapping):
        return [text for key, value in x.items() for text in (str(key), *_ids(value))]
    return [text for item in x for text in _ids(item)] if isinstance(x, list | tuple) else []


def first(x: Any) -> str:
    """Return the first id of a branch of the guide."""
    while not isinstance(x, str):
        x = next(iter(x.values())) if isinstance(x, Mapping) else x[0]
    return x


def told_body(stage: Stage, cast: Cast, body: Any, made: Fitted) -> None:
    """Say where a body came from, and which of its ids were replaced."""
    where = "this package" if body.own else f"{cast.bodies.folder}"
    stage.note(f"The body is {body.name}, from {visible(where, 200)}.")
    if made.replaced:
        stage.note(
            f"{', '.join(made.replaced)} in it is not known to the seeded world; an id of the world stands in its place."
        )


def masked(record: Any, wire: str) -> str:
    """Return a member as it is shown, by its wire name."""
    return str(masks.masked(record)[wire])
