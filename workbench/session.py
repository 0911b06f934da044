"""A client, a sandbox or its control, and an inbox, put together by `connect()`."""

import os
import sys
import weakref
from collections.abc import Mapping
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from workbench.client.client import Client
from workbench.client.journal import Journal
from workbench.client.keys import Key
from workbench.client.pace import Clock
from workbench.client.settings import client_settings, open_profile
from workbench.client.state import state_path
from workbench.errors import InvalidProfile, WrongEnvironment, hide_arguments, visible

if TYPE_CHECKING:  # what completion and checkers know; loaded only where it is used
    from workbench.interface.events import Event
    from workbench.sandbox import Sandbox
    from workbench.webhooks.inbox import Inbox

_LATEST: list["weakref.ref[Session]"] = []


class Session(Client):
    """A client with what belongs to it: `.sandbox` and its controls, `.inbox` for events, `.journal`."""

    @hide_arguments
    def __init__(
        self, *, sandbox: Any = None, keys: tuple[str, ...] = (), inbox: Path | None = None, name: str = "",
        behaviors: Mapping[str, Any] | None = None, **settings: Any,
    ) -> None:  # fmt: skip
        """Make a session.

        Args:
            sandbox: The sandbox behind it, or the control of a served one; None for a real service.
            keys: What webhook deliveries are signed with; where none are given, the API key.
            inbox: The file in which events are kept; None keeps them in memory.
            name: Of the profile.
            behaviors: What the profile says of a real sandbox beyond the document.
            settings: Of the client.
        """
        __tracebackhide__ = True
        super().__init__(**settings)
        self.sandbox_settings: Mapping[str, Any] = dict(behaviors or {})
        """What the profile says of a real sandbox beyond the document, as {"settle_route": True}."""
        self._sandbox = sandbox
        self._keys = tuple(Key(key) for key in keys)  # held so that no dump of a session shows one
        self._inbox_path = inbox
        self._name = name
        self._inbox: Any = None
        if self._context.journal is not None:
            self._context.journal.events = lambda: self.events
        _LATEST[:] = [weakref.ref(self)]
        _show_faces()

    @property
    def sandbox(self) -> "Sandbox":
        """The sandbox behind this session, or the control of a served one: what the interface does not have.

        Raises:
            WrongEnvironment: A real service answers here; it has no such controls.
        """
        if self._sandbox is None:
            raise WrongEnvironment(
                f"{self.host} is a real service: it has no controls such as settle or advance. "
                "connect() gives a session on a sandbox of its own."
            )
        sandbox: Sandbox = self._sandbox
        return sandbox

    @property
    def inbox(self) -> "Inbox":
        """The events received: those of the sandbox come by themselves."""
        holder: Any = self._parent
        if holder._inbox is None:
            from workbench.webhooks.inbox import Inbox

            keys = [key.header() for key in self._keys or (self._key,)]
            source = None if self._sandbox is None else self._sandbox.drain
            holder._inbox = Inbox(self._inbox_path, keys=keys, source=source)
        inbox: Inbox = holder._inbox
        return inbox

    @property
    def events(self) -> "list[Event]":
        """The events received so far, oldest first."""
        return self.inbox.events()

    def close(self) -> None:
        """Close connections, the journal's file, the inbox and a sandbox of its own."""
        super().close()
        holder: Any = self._parent
        if holder._inbox is not None:
            holder._inbox.close()
            holder._inbox = None
        if hasattr(holder._sandbox, "close"):  # a served one is not ours to close
            holder._sandbox.close()

    def __repr__(self) -> str:
        text = super().__repr__()
        return text.replace("<Session ", f"<Session {self._name}: ", 1) if self._name else text


def latest() -> Session | None:
    """Return the session that was made last in this process, while it is still in use."""
    return _LATEST[0]() if _LATEST else None


def _show_faces() -> None:
    """In a notebook, show records and errors by their faces from the first session on."""
    shell = getattr(sys.modules.get("IPython"), "get_ipython", lambda: None)()
    if shell is None or getattr(shell, "display_formatter", None) is None:
        return
    from workbench import rendering
    from workbench.interface.fields import Answer

    if Answer not in shell.display_formatter.formatters["text/html"].type_printers:
        rendering.register(shell)


class SandboxTime(Clock):
    """The clock of a session on a sandbox of its own: the time of day is the sandbox's."""

    def __init__(self, sandbox: Any) -> None:
        self._sandbox = sandbox

    def now(self) -> datetime:
        """Return the sandbox's time."""
        now: datetime = self._sandbox.clock.now()
        return now


@hide_arguments
def connect(
    where: str | None = None, *, seed: int | None = None, sandbox: Mapping[str, Any] | None = None,
    wire_names: Mapping[str, str] | None = None, **settings: Any,
) -> Session:  # fmt: skip
    """Return a session: on a sandbox of its own, on a profile by its name, or on a sandbox served at a URL.

    Args:
        where: None for an embedded, seeded sandbox; `http://127.0.0.1:port` for a served one; else a profile's name.
        seed: Of the embedded sandbox: the same seed and the same calls give the same bytes.
        sandbox: More of the embedded sandbox: `environment`, `profile` ("documented" or "observed"), a `path` that keeps
            its state, and behaviors by their id among the assumptions.
        wire_names: Other wire names than assumed; an embedded sandbox uses them too.
        settings: More of the client, as `timeout`, `check` or `journal`; `api_key` may be a function that fetches it.
    """
    __tracebackhide__ = True
    if where is not None and not isinstance(where, str):
        raise InvalidProfile(f"where is the name of a profile or a URL, not a {type(where).__name__}")
    own = [name for name, given in (("seed", seed), ("sandbox", sandbox)) if given is not None]
    if where is not None and where.startswith(("http://", "https://")):
        _only_embedded(own, f"the sandbox served at {visible(where, 120)}")
        return _served(where, wire_names=wire_names, **settings)
    if where is not None:
        profile = open_profile(where)
        if profile.base_url is not None:
            _only_embedded(own, f"profile {profile.name!r}, which names a service")
            given = client_settings(profile, settings.pop("api_key", None))
            given["wire_names"] = {**given["wire_names"], **(wire_names or {})}
            signing = os.environ.get("WORKBENCH_WEBHOOK_KEY")
            given |= {"keys": (signing,) if signing else (), "inbox": state_path() / f"inbox-{profile.name}.db"}
            return Session(name=profile.name, behaviors=profile.sandbox, **{**given, **settings})
        sandbox, wire_names = {**profile.sandbox, **(sandbox or {})}, {**profile.wire_names, **(wire_names or {})}
        settings = {"name": profile.name, "timeout": profile.timeout, "limits": profile.limits, **settings}
    return _embedded({**(sandbox or {}), **({} if seed is None else {"seed": seed})}, wire_names, settings)


def _only_embedded(given: list[str], where: str) -> None:
    if given:
        raise InvalidProfile(f"{' and '.join(given)} set up a sandbox of one's own, and are nothing to {where}")


_DIRECT = ("seed", "environment", "profile", "path", "webhooks_outside")


def _embedded(sandbox: dict[str, Any], wire_names: Mapping[str, str] | None, settings: dict[str, Any]) -> Session:
    from workbench.sandbox import Sandbox

    direct = {name: sandbox.pop(name) for name in _DIRECT if name in sandbox}
    own = Sandbox(**direct, settings=sandbox, wire_names=wire_names)
    guide = own.guide()
    key = next(iter(guide["api_keys"].values()))
    return Session(
        sandbox=own,
        keys=(key,),
        **{
            "base_url": guide["base_url"], "api_key": key, "environment": own.environment, "wire_names": wire_names,
            "transport": own.transport(), "clock": SandboxTime(own), "journal": Journal(clock=SandboxTime(own)), **settings,
        },
    )  # fmt: skip


def _served(url: str, **settings: Any) -> Session:
    from workbench.sandbox.remote import RemoteSandbox

    control = RemoteSandbox(url)
    guide = control.guide()
    key = next(iter(guide["api_keys"].values()))
    return Session(sandbox=control, keys=(key,), **{"base_url": guide["base_url"], "api_key": key, **settings})
