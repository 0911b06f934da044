"""The `chart` decorator, which declares how a function's result is drawn: chart kind, axis columns and groups."""

import inspect
from collections.abc import Callable
from functools import wraps
from typing import Any, ParamSpec, TypedDict

from matplotlib.axes import Axes

from workbench.analysis.charts.canvas import Size, canvas
from workbench.analysis.charts.kinds import KINDS, Form, Picture, heading_rows
from workbench.base.errors import InvalidArguments, Problem, UsageError, unknown_name

P = ParamSpec("P")
_DOC = """
    ax: Axes to draw on; a new figure of `size` by default.
    size: "notebook", "slide", "compact", or width and height in inches.
    title: Title in place of the default, which becomes the subtitle.
"""


class Place(TypedDict, total=False):
    """Where a chart is drawn; every chart function takes these arguments."""

    ax: Axes | None
    size: Size
    title: str | None


def chart(kind: str, **form: Any) -> Callable[[Callable[P, Picture]], Callable[P, Axes]]:
    """Return a decorator that draws the picture that a function returns.

    Args:
        kind: "bars", "lines", "columns" or "grid".
        form: Other arguments of `Form`.
    """
    declared = Form(kind=kind, **form)

    def declare(make: Callable[P, Picture]) -> Callable[P, Axes]:
        own = [p for p in inspect.signature(make).parameters.values() if p.kind is not p.VAR_KEYWORD]
        places = [
            inspect.Parameter("ax", inspect.Parameter.KEYWORD_ONLY, default=None, annotation=Axes | None),
            inspect.Parameter("size", inspect.Parameter.KEYWORD_ONLY, default="notebook", annotation=Size),
            inspect.Parameter("title", inspect.Parameter.KEYWORD_ONLY, default=None, annotation=str | None),
        ]
        names = [parameter.name for parameter in (*own, *places)]

        @wraps(make)
        def draw(*args: P.args, **given: P.kwargs) -> Axes:
            if unknown := [name for name in given if name not in names]:
                raise InvalidArguments([unknown_name(unknown[0], names)], of=f"charts.{make.__name__}")
            place: Any = {name: given.pop(name) for name in ("ax", "size", "title") if name in given}
            return drawn(make(*args, **given), declared, **place)

        draw.__signature__ = inspect.Signature([*own, *places], return_annotation=Axes)  # type: ignore[attr-defined]
        draw.__doc__ = (inspect.getdoc(make) or "") + _DOC
        return draw

    return declare


def drawn(
    picture: Picture, form: Form, ax: Axes | None = None, size: Size = "notebook", title: str | None = None
) -> Axes:
    """Draw a picture with its title and notes, or the reason for an empty plot."""
    if not isinstance(title, str | None):
        raise UsageError([Problem("title", "type", "must be text")], of="charts")
    form = picture.form or form
    is_empty = not len(picture.rows)
    names, rows = ([], 0) if is_empty else heading_rows(picture, form)
    columns = form.x if form.kind == "bars" else form.y
    has_legend = not is_empty and ((bool(form.by) and form.kind == "bars") or form.total or isinstance(columns, tuple))
    with canvas(picture.data, ax, size, rows) as on:
        on.title(picture.subject, title, labels=names, legend=has_legend and form.kind != "lines")
        if is_empty:
            on.empty(form.empty)
            more = None
        else:
            more = KINDS[form.kind](on, picture, form)
        on.notes(*picture.notes, *(more or ()))
    return on.axes
