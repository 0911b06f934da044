"""How IPython and notebooks show records and errors. IPython is an argument, never imported."""

from collections.abc import Callable
from typing import Any

from workbench.errors import Problem, WorkbenchError
from workbench.interface.assumptions import Assumption
from workbench.interface.events import EVENT_KINDS, Event
from workbench.interface.fields import Answer
from workbench.interface.table import OPERATIONS
from workbench.interface.walk import records
from workbench.rendering import markup, text
from workbench.rendering.describe import describe

_HTML, _PLAIN = "text/html", "text/plain"


def shown_types() -> tuple[type[Any], ...]:
    """Return the classes that are shown our way: answers, requests and their parts, problems, assumptions."""
    # Each by itself: IPython takes the repr that a class has of its own before a printer of the class above it.
    tops = [cls for row in OPERATIONS.values() for cls in (row.request, row.answer)]
    tops += [Event, *(kind.body for kind in EVENT_KINDS.values())]
    found = {cls for top in tops for cls in records(top)}
    return (Answer, *sorted(found, key=lambda cls: cls.__name__), Problem, Assumption)


def register(shell: Any) -> Callable[[], None]:
    """Let an IPython shell show records, lists of them, and errors without their traces our way.

    Returns:
        A function that undoes it.
    """
    formatters = shell.display_formatter.formatters
    html, plain = formatters[_HTML], formatters[_PLAIN]
    before = [(plain.type_printers, dict(plain.type_printers)), (html.type_printers, dict(html.type_printers))]
    for cls in shown_types():
        html.for_type(cls, _html)
        plain.for_type(cls, _pretty)
    for cls in (list, tuple):
        html.for_type(cls, _html_of_many)
        plain.for_type(cls, _pretty_of_many(plain.type_printers.get(cls)))
    shell.set_custom_exc((WorkbenchError,), _say)

    def undo() -> None:
        for printers, earlier in before:
            printers.clear()
            printers.update(earlier)
        shell.set_custom_exc((), None)

    return undo


def _html(x: Any) -> str:
    return markup.write(describe(x))


def _pretty(x: Any, printer: Any, cycle: bool) -> None:
    printer.text("…" if cycle else text.write(describe(x), printer.max_width))


def _ours(x: Any) -> bool:
    return (
        bool(x) and all(type(item) is type(x[0]) for item in x[:50]) and isinstance(x[0], Problem | Assumption | Answer)
    )


def _html_of_many(x: Any) -> str | None:
    return markup.write(describe(x)) if type(x) in (list, tuple) and _ours(x) else None


def _pretty_of_many(usual: Callable[..., None] | None) -> Callable[..., None]:
    def pretty(x: Any, printer: Any, cycle: bool) -> None:
        if not cycle and type(x) in (list, tuple) and _ours(x):
            printer.text(text.write(describe(x), printer.max_width))
        elif usual is not None:
            usual(x, printer, cycle)
        else:
            printer.text(repr(x))

    return pretty


def _say(shell: Any, kind: type[BaseException], error: BaseException, trace: Any, tb_offset: Any = None) -> list[str]:
    """Show an error of ours by its message. The trace is one `%tb` away, and never holds a request's values."""
    words = text.write(describe(error)).split("\n")
    shell._showtraceback(kind, error, words)
    return words
