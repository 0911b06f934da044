"""How a control is declared: a method of the sandbox for what the interface does not have."""

import inspect
from collections.abc import Callable
from typing import Any, TypeVar

import attrs

from workbench.errors import ApiError, BadRequest, NotFound
from workbench.sandbox.engine import Engine

F = TypeVar("F", bound=Callable[..., Any])
Record = dict[str, Any]


@attrs.frozen
class Control:
    """A control: name, documentation, signature, and whether it may change something."""

    name: str
    doc: str
    signature: inspect.Signature
    changes: bool


def control(*, changes: bool) -> Callable[[F], F]:
    """Declare a method as a control."""

    def mark(method: F) -> F:
        method.__dict__["changes"] = changes
        return method

    return mark


class ControlGroup:
    """Controls that act on an engine."""

    _engine: Engine

    def _record(self, name: str, kind: str, key: object) -> Record:
        found: Record | None = self._engine.store.get(kind, key.lower()) if isinstance(key, str) else None
        if found is None:
            raise not_found(name, kind.replace("_", " ").capitalize())
        return found


def usage_error(name: str, message: str) -> ApiError:
    """Return the 400 of a control."""
    return BadRequest(operation=name, status=400, error="BadRequestError", message=message)


def not_found(name: str, what: str) -> ApiError:
    """Return the 404 of a control."""
    return NotFound(operation=name, status=404, error="NotFoundError", message=f"{what} not found")
