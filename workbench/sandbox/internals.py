"""Interface of a sandbox for other packages, in addition to the controls. These names are not public and may change."""

from typing import TYPE_CHECKING, Any, Protocol, cast

if TYPE_CHECKING:
    import httpx

    from workbench.sandbox.control_records import SandboxTime
    from workbench.sandbox.delivery import EventDelivery
    from workbench.sandbox.embedded import DirectTransport, Sandbox, ServiceEnvironment
    from workbench.sandbox.engine import Engine
    from workbench.sandbox.server import App


class Internals(Protocol):
    """Internal members of `Sandbox` and `RemoteSandbox`, whose methods document the arguments."""

    @property
    def engine(self) -> "Engine": ...
    @property
    def environment(self) -> "ServiceEnvironment": ...
    @property
    def url(self) -> str: ...
    @property
    def hosted(self) -> bool: ...  # whether a server with several sandboxes hosts this sandbox
    @property
    def http(self) -> "httpx.Client": ...  # HTTP client, if the sandbox is served

    def changed(self, kind: str, names: str = "", mark: str = "") -> list[Any]: ...
    def changes(self, actor: str = "") -> int: ...
    def direct(self, *, faults: bool = True) -> "DirectTransport": ...
    def drain(self, after: int = 0, api_key: str | None = None) -> tuple[list["EventDelivery"], int]: ...
    def for_key(self, api_key: str) -> "Sandbox": ...
    def http_app(self, url: str, local: bool = True, *, relay: Any = None) -> "App": ...
    def last_event(self) -> int: ...
    def mark(self) -> str: ...
    def savepoint(self) -> int: ...
    def undo(self, savepoint: int, actor: str) -> "SandboxTime": ...
    def world_id(self) -> str: ...


class _InternalMembers:
    __slots__ = ("_sandbox",)

    def __init__(self, sandbox: object) -> None:
        self._sandbox = sandbox

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):  # otherwise a copy without `_sandbox` would recurse endlessly
            raise AttributeError(name)
        return getattr(self._sandbox, f"_{name}")


def internals(sandbox: object) -> Internals:
    """Return the internal members of a sandbox.

    Args:
        sandbox: Embedded sandbox, or client of a served sandbox.
    """
    return cast("Internals", _InternalMembers(sandbox))
