"""Simulated card issuing service in this process, with all operations, seeded test data and a controllable clock."""

from typing import TYPE_CHECKING

from workbench.base.lazy import public_names

if TYPE_CHECKING:
    from workbench.base.system.messages import Request as Request
    from workbench.base.system.messages import Response as Response
    from workbench.sandbox.embedded import Sandbox as Sandbox

_NAMES = {
    "Request": "workbench.base.system.messages",
    "Response": "workbench.base.system.messages",
    "Sandbox": "workbench.sandbox.embedded",
}

if not TYPE_CHECKING:  # a type checker that sees `__getattr__` accepts every name
    __getattr__, __dir__ = public_names(__name__, _NAMES)
