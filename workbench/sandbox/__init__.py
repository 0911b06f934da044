"""A service that answers: the whole interface on a seeded world, in process, on a clock that moves only when told."""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from workbench.sandbox.embedded import Sandbox as Sandbox
    from workbench.sandbox.service import Request as Request
    from workbench.sandbox.service import Response as Response

__all__ = ["Request", "Response", "Sandbox"]


def __getattr__(name: str) -> Any:
    if name == "Sandbox":
        from workbench.sandbox import embedded

        return embedded.Sandbox
    if name in __all__:
        from workbench.sandbox import service

        return getattr(service, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
