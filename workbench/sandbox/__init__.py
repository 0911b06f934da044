"""A simulated card issuing service in this process: all operations, a seeded world, a clock that only controls move."""

from typing import TYPE_CHECKING

from workbench.lazy import public_names

if TYPE_CHECKING:
    from workbench.sandbox.embedded import Sandbox as Sandbox
    from workbench.system.messages import Request as Request
    from workbench.system.messages import Response as Response

_NAMES = {
    "Request": "workbench.system.messages",
    "Response": "workbench.system.messages",
    "Sandbox": "workbench.sandbox.embedded",
}

if not TYPE_CHECKING:  # a type checker would take any name from `__getattr__`
    __getattr__, __dir__ = public_names(__name__, _NAMES)
