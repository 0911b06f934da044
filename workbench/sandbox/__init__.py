"""In-process simulated card issuing service: all operations, seeded test data and a controllable clock."""

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

if not TYPE_CHECKING:  # with `__getattr__`, a type checker would accept any name
    __getattr__, __dir__ = public_names(__name__, _NAMES)
