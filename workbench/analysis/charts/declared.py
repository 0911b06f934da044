"""The `chart` decorator, which declares how a function's result is drawn: chart kind, axis columns and groups."""

import inspect
from collections.abc import Callable
from functools import wraps
from typing import Any, ParamSpec, TypedDict

from matplotlib.axes import Axes

from workbench.analysis.charts.canvas import Size, canvas
from workbench.analysis.charts.kinds import KINDS, Form, Picture, legend_key

P = ParamSpec("P")
_DOC = """
    ax: Axes to draw on; a new figure of `size` by default.
    size: "notebook", "slide", "compact", or width and height in inches.
    title: Title. The default title then becomes the subtitle.
"""


class Place(TypedDict, total=False):
    """Arguments of every chart function: where to draw the chart, its size and its title."""

    ax: Axes | None
    size: Size
    title: str | None


def chart(kind: str, **form: Any) -> Callable[[Callable[P, Picture]], Callable[P, Axes]]:
    """Return a decorator. The decorated function draws its picture and returns the Axes.

    Args:
        kind: "bars", "lines", "columns" or "grid".
        form: Other arguments of `Form`.
    """
    declared = Form(kind=kind, **form)
    _, _, *places = inspect.signature(drawn).parameters.values()

    def declare(make: Callable[P, Picture]) -> Callable[P, Axes]:
        own = [p for p in inspect.signature(make).parameters.values() if p.kind is not p.VAR_KEYWORD]
        signature = inspect.Signature([*own, *places], return_annotation=Axes)

        @wraps(make)
        def draw(*args: P.args, **options: P.kwargs) -> Axes:
            signature.bind(*args, **options)  # raises an error for unknown names, which `make` would ignore
            place: Any = {p.name: options.pop(p.name) for p in places if p.name in options}
            return drawn(make(*args, **options), declared, **place)

        draw.__signature__ = signature  # type: ignore[attr-defined]
        draw.__doc__ = (inspect.getdoc(make) or "") + _DOC
        return draw

    return declare


def drawn(
    picture: Picture, form: Form, *, ax: Axes | None = None, size: Size = "notebook", title: str | None = None
) -> Axes:
    """Draw a picture with its title and notes. An empty plot states why it is empty."""
    form = picture.form or form
    is_empty = not len(picture.rows)
    names = [bar.name for bar in picture.rows] if form.kind == "bars" else []  # long names leave less width for a title
    rows = picture.rows[form.by].nunique() if form.kind == "grid" else len(names)
    with canvas(picture.data, ax, size, rows) as on:
        has_legend = not is_empty and (picture.legend or picture.nested)
        on.title(picture.subject, title, labels=names, legend=has_legend)
        if is_empty:
            on.empty(form.empty)
            more = None
        else:
            more = KINDS[form.kind](on, picture, form)
            if picture.legend:
                on.legend([legend_key(*entry) for entry in picture.legend.items()])
        on.notes(*picture.notes, *(more or ()))
    return on.axes
