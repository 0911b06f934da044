"""Sessions: a client with sandbox controls, webhook inbox and journal, opened by `connect()` or `connect_async()`."""

import inspect
import os
import weakref
from collections.abc import Callable, Iterable, Mapping
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Literal, ParamSpec, TypeVar

from workbench.base.arguments import hide_arguments, hide_arguments_of_methods
from workbench.base.errors import InvalidProfile, NotSent, Problem, UsageError, WrongEnvironment, not_allowed
from workbench.base.keys import Key
from workbench.base.remedies import Remedy, declare
from workbench.base.system.process import HOSTED, own_address, refusal
from workbench.base.system.progress import ipython_shell
from workbench.client.calls.base import BaseClient, EnvironmentName, journal_of
from workbench.client.calls.client import AsyncClient, Client
from workbench.client.calls.exchange import IDEMPOTENCY_HEADER
from workbench.client.calls.guards import Limits
from workbench.client.calls.journal import Journal, recorder_of
from workbench.client.calls.keys import state_path
from workbench.client.calls.options import client_problems
from workbench.client.calls.pace import Clock
from workbench.sandbox.internals import internals

if TYPE_CHECKING:  # these names help completion and type checkers, and are imported on first use
    from workbench.client.health import Health
    from workbench.client.webhooks.async_inbox import AsyncInbox
    from workbench.client.webhooks.inbox import Inbox
    from workbench.sandbox import Sandbox
    from workbench.sandbox.behavior import Behavior
    from workbench.sandbox.programs import World

declare(
    "embedded",
    python="connect() opens a session on an embedded sandbox.",
    other="Only a sandbox has controls.",
)

P = ParamSpec("P")
R = TypeVar("R")
_LATEST: list["weakref.ref[Session]"] = []
"""The most recently opened session, for `latest()`, as a weak reference, so that it can be garbage-collected."""


class _Unset:
    def __repr__(self) -> str:
        return "<of the profile, or 30>"


_UNSET: Final[Any] = _Unset()


@hide_arguments_of_methods
class _Session(BaseClient):
    """Members that synchronous and asynchronous sessions share."""

    @hide_arguments
    def __init__(
        self,
        *,
        sandbox: Any = None,
        keys: tuple[Key | str, ...] = (),
        inbox: Path | None = None,
        name: str = "",
        behaviors: Mapping[str, Any] | None = None,
        **settings: Any,
    ) -> None:
        """Create a session. Call `connect()` instead, which sets these arguments.

        Args:
            sandbox: Embedded sandbox, or controls of a served sandbox, or None for a real service.
            keys: Keys that sign webhook deliveries (default: the API key).
            inbox: File that stores the events; None stores them in memory.
            name: Name of the profile.
            behaviors: Undocumented behaviors of a real service, from its profile.
            settings: Arguments of the client.
        """
        super().__init__(**settings)
        self._behaviors = dict(behaviors or {})
        self._sandbox = sandbox
        if getattr(sandbox, "_hosted", False):
            HOSTED.add(internals(sandbox).url)
        self._context.is_sandbox = sandbox is not None
        self._keys = tuple(Key.of(key, "keys") for key in keys)  # stored as Key objects, so that no dump shows them
        self._inbox_path = inbox
        self._name = name
        self._inboxes: list[Inbox] = []  # at most one inbox; views share the list
        if (journal := journal_of(self)) is not None:
            recorder = recorder_of(journal)
            recorder.events = InboxEvents(self._received) if sandbox is None else _SandboxEvents(self)
            recorder.keys_honored = self._keys_honored
        if isinstance(self, Session):
            _LATEST[:] = [weakref.ref(self)]
        _show_records()

    @property
    def sandbox(self) -> "Sandbox":
        """Controls of the embedded or served sandbox behind this session.

        Raises:
            WrongEnvironment: The session is connected to a real service, which has no sandbox controls.
        """
        if self._sandbox is None:
            raise WrongEnvironment(
                f"{self.host} is a real service, without controls such as settle or advance. {Remedy('embedded')}"
            )
        sandbox: Sandbox = internals(self._sandbox).for_key(self._key.header().decode())
        return sandbox

    @property
    def inbox(self) -> "Inbox":
        """Inbox of webhook events. Events of a sandbox arrive automatically."""
        if not self._inboxes:
            from workbench.client.webhooks.async_inbox import AsyncInbox
            from workbench.client.webhooks.inbox import Inbox

            keys = self._keys or (self._key,)
            source = None
            if self._sandbox is not None:  # the inbox receives the events of the key's tenant, signed with the key
                source = partial(internals(self._sandbox).drain, api_key=keys[0].header().decode())
            inbox_class = AsyncInbox if isinstance(self, AsyncClient) else Inbox
            self._inboxes.append(inbox_class(self._inbox_path, keys=keys, source=source))
        return self._inboxes[0]

    def _received(self) -> "Inbox | None":
        """Return the inbox, or None if no inbox was opened and its file does not exist."""
        exists = self._inboxes or (self._inbox_path is not None and self._inbox_path.exists())
        return self.inbox if exists else None

    def _keys_honored(self) -> bool:
        """Return whether the profile or the sandbox states that a repeated idempotency key has no second effect."""
        if (self._context.idempotency_header or IDEMPOTENCY_HEADER).lower() != IDEMPOTENCY_HEADER.lower():
            return False
        stated = self._behaviors if self._sandbox is None else self._sandbox.guide()
        return stated.get("idempotency_keys") is True

    def health(self) -> "Health":
        """Return the session's problems, most urgent first: unknown outcomes, failures by cause, and remedies.

        Failed reads come from the sandbox's log. For a real service only writes are known, from the journal.
        """
        from workbench.client.health import examine

        sandbox = self.sandbox if self._sandbox is not None else None
        return examine(self._journal, self.inbox, sandbox, self.info())

    def _close_rest(self) -> None:
        super()._close_rest()
        while self._inboxes:
            self._inboxes.pop().close()
        if hasattr(self._sandbox, "close"):  # only an embedded sandbox is closed here
            self._sandbox.close()

    if not TYPE_CHECKING:  # a type checker that sees `__getattr__` accepts every name

        def __getattr__(self, name: str) -> Any:
            text = f"{type(self).__name__!r} object has no attribute {name!r}"
            sandbox = self.__dict__.get("_sandbox")
            if not name.startswith("_") and hasattr(type(sandbox), name):
                text = f"{name} is a control of the sandbox: api.sandbox.{name}"
            raise AttributeError(text, name=name, obj=self)

    def __repr__(self) -> str:
        text = super().__repr__()
        kind = type(self).__name__
        return text.replace(f"<{kind} ", f"<{kind} {self._name}: ", 1) if self._name else text


class Session(_Session, Client):
    """A client with sandbox controls (`.sandbox`), webhook events (`.inbox`) and a history of writes (`.journal`)."""


class AsyncSession(_Session, AsyncClient):
    """A session whose operations and `inbox.wait` are awaited; `.sandbox`, `.journal` and the rest are synchronous.

    Bulk runs, sequence files, withdrawals and interactive tools need a synchronous session from `connect()`. Call
    them in a thread, such as `await asyncio.to_thread(wb.bulk.run, …)`.
    """

    @property
    def inbox(self) -> "AsyncInbox":
        """Inbox of webhook events. Events of a sandbox arrive automatically."""
        return super().inbox  # type: ignore[return-value] # made for this class


class InboxEvents:
    """Events received by an inbox, as evidence of calls to a service. The inbox may not exist yet."""

    def __init__(self, inbox: "Callable[[], Inbox | None]") -> None:
        self._inbox = inbox

    def mark(self) -> str:
        """Return the number of the last event received."""
        inbox = self._inbox()
        if inbox is None:
            return ":0"
        from workbench.client.webhooks.inbox import last_event

        return f":{last_event(inbox)}"

    def since(self, marks: Iterable[str]) -> tuple[list[Any], str]:
        """Return the events received after the earliest mark; some may be missing."""
        inbox, numbers = self._inbox(), [int(mark.rpartition(":")[2]) for mark in marks if mark]
        return [] if inbox is None else inbox.events(since=min(numbers, default=0)), ""


class _SandboxEvents:
    """Events of a session's sandbox, as evidence of its calls."""

    def __init__(self, session: _Session) -> None:
        self._session = session
        self._is_embedded = hasattr(session._sandbox, "_mark")
        self._first = ""

    def mark(self) -> str:
        """Return the sandbox's world id and last event number. A served sandbox is asked only before the first call."""
        sandbox = self._session._sandbox
        if self._is_embedded:
            return str(internals(sandbox).mark())
        self._first = self._first or f"{internals(sandbox).world_id()}:{internals(sandbox).last_event()}"
        return self._first

    def since(self, marks: Iterable[str]) -> tuple[list[Any], str]:
        """Return the events after the earliest mark, and the world id if the sandbox is embedded, otherwise ""."""
        from workbench.service.interface.events import Event

        sandbox = self._session.sandbox
        world = internals(sandbox).world_id() if self._is_embedded else ""
        given = [mark.partition(":") for mark in marks if mark]
        numbers = [int(number) for of, _, number in given if of in (world, "")]
        listed = sandbox.events(since=min(numbers, default=0))
        read = self._session.converter.structure
        return [read(event.payload, Event) for event in listed], world


def latest() -> Session | None:
    """Return the most recently opened session of this process; None if no session was opened or it was discarded."""
    return _LATEST[0]() if _LATEST else None


def sandbox_of(api: object) -> "Sandbox | None":
    """Return the sandbox behind a client or session; None for a real service or a plain client."""
    return api.sandbox if isinstance(api, _Session) and api._sandbox is not None else None


def sandbox_times(api: object) -> dict[str, datetime]:
    """Return the sandbox time of each event by event id; empty for a real service."""
    sandbox = sandbox_of(api)
    return {} if sandbox is None else {event.payload["id"]: event.at for event in sandbox.events()}


def behaviors_of(api: object) -> Mapping[str, Any]:
    """Return the undocumented behaviors that a profile states for its service, such as {"settle_route": True}."""
    return api._behaviors if isinstance(api, _Session) else {}


def profile_of(api: object) -> str:
    """Return the name of the profile that a session was opened with; empty without a profile."""
    return api._name if isinstance(api, _Session) else ""


def _show_records() -> None:
    """Register the notebook display of records and errors when the first session opens."""
    shell = ipython_shell()
    if shell is None or getattr(shell, "display_formatter", None) is None:
        return
    from workbench.base.schema.fields import Answer
    from workbench.service import rendering

    if Answer not in shell.display_formatter.formatters["text/html"].type_printers:
        rendering.register(shell)


class SessionClock(Clock):
    """Clock of a session on an embedded sandbox: `now()` returns the sandbox's time."""

    def __init__(self, sandbox: Any) -> None:
        self._sandbox = sandbox

    def now(self) -> datetime:
        """Return the sandbox's time."""
        now: datetime = self._sandbox.clock.now()
        return now


@hide_arguments
def connect(
    where: str | None = None,
    *,
    api_key: str | Key | Callable[[], str] | None = None,
    tenant: str | None = None,
    timeout: float | None = _UNSET,
    check: bool = True,
    journal: Journal | str | Path | Literal[False] | None = None,
    limits: Limits | None = None,
    wire_names: Mapping[str, str] | None = None,
    ca_file: str | Path | None = None,
    idempotency_header: str | None = None,
    seed: int | None = None,
    behavior: "Behavior | None" = None,
    environment: EnvironmentName | None = None,
    path: str | Path | None = None,
    public_webhooks: bool | None = None,
    clock: datetime | str | None = None,
    world: "World | None" = None,
    http: Mapping[str, Any] | None = None,
) -> Session:
    """Open a session on an embedded sandbox, on a named profile, or on a sandbox served at a URL.

    Args:
        where: None for an embedded sandbox, a URL for a served sandbox, otherwise the name of a profile. If
            WORKBENCH_PROFILE names a profile, None opens this profile, unless an argument is only for embedded
            sandboxes. In a class, None opens your sandbox on the class server.
        api_key: The key, or a function that fetches the key. The function is called again every 15 minutes and after a
            401. The default is the sandbox's full key, or the profile's key. A sandbox that another machine serves, at
            https://…, needs its full key.
        tenant: Tenant whose key is used, such as "provider-managed"; see `api.sandbox.tenants()`.
        timeout: Seconds per call, including retries (default 30, or the profile's); None waits forever.
        check: Whether requests are checked before they are sent. False also sends invalid requests.
        journal: Journal, or path of a journal, that records calls with an effect. False records no calls. By default
            the journal is in memory for a sandbox, and in a file for a real service.
        limits: Rate limits, caps and the list of allowed recipients.
        wire_names: Wire names that differ from the assumed names, such as {"simulate_authorization.decline_reason":
            "reason"}.
        ca_file: Certificates to trust in place of the default certificates.
        idempotency_header: Header that carries an idempotency key for each write, equal for all attempts.
        seed: Embedded sandbox only: seed of its world (default 1). The same seed and calls give the same bytes.
        behavior: Embedded sandbox only: "documented" (default), "observed" to follow live services in cases that the
            document leaves open, or a TOML file or mapping with settings, such as {"settle_route": False}.
        environment: Embedded sandbox only: "sandbox" (default) or "production", where simulations do not exist.
        path: Embedded sandbox only: file that stores its state; by default the state is in memory.
        public_webhooks: Embedded sandbox only: whether webhooks may go to public addresses (default False).
        clock: Embedded sandbox only: "fixed" (default), or a running clock: "now", a start time, or a speed such as
            "x60".
        world: Embedded sandbox only: "small" (default), "program" with 240 people and a year of purchases, "large", or
            a TOML file.
        http: Options of the connections to a service, such as {"trust_env": True}; see `docs/connections.md`.

    Raises:
        UsageError: Arguments are not allowed. The message lists all problems.
        InvalidProfile: The profile is unknown or invalid.
        NotSent: No sandbox answers at the URL.
    """
    return Session(**_session_settings(**locals()))


def _takes_arguments_of(function: Callable[P, object]) -> Callable[[Callable[..., R]], Callable[P, R]]:
    """Copy the signature of another function to a forwarding function."""

    def signed(other: Callable[..., R]) -> Callable[P, R]:
        returned = inspect.signature(other).return_annotation
        signature = inspect.signature(function).replace(return_annotation=returned)
        other.__signature__ = signature  # type: ignore[attr-defined]
        return other

    return signed


@hide_arguments
@_takes_arguments_of(connect)
async def connect_async(*args: object, **given: object) -> AsyncSession:
    """Open an asynchronous session, with the arguments of `connect`."""
    arguments = inspect.signature(connect).bind(*args, **given)
    arguments.apply_defaults()
    import asyncio  # imported late, since most programs have no event loop

    prepared = await asyncio.to_thread(_session_settings, **arguments.arguments)
    return AsyncSession(**prepared)


_EMBEDDED = ("seed", "behavior", "environment", "path", "public_webhooks", "clock", "world")


def _session_settings(where: Any, **given: Any) -> dict[str, Any]:
    """Return the constructor arguments of a session."""
    timeout = given.pop("timeout")
    given = {name: value for name, value in given.items() if value is not None}
    embedded = {name: given.pop(name) for name in _EMBEDDED if name in given}
    client = given if timeout is _UNSET else {**given, "timeout": timeout}
    problems = [*_embedded_problems(embedded), *client_problems(**client)]
    if where is not None and not isinstance(where, str):
        text = f"must be the name of a profile or a URL, not a {type(where).__name__}"
        problems.insert(0, Problem("where", "type", text))
    if problems:
        raise UsageError(problems, of="connect")
    own = own_address(production=embedded.get("environment") == "production") if where is None else None
    if where is None and own is None and not embedded:
        where = os.environ.get("WORKBENCH_PROFILE") or None
    if own is not None and not (embedded.keys() - {"seed", "environment"} or "wire_names" in client):
        # The journal is new, as for an embedded sandbox, because a reset sandbox has no earlier calls.
        client = {"journal": Journal(), **({"ca_file": own.ca_file} if own.ca_file else {}), **client}
        try:
            return _served(own.url, client)
        except NotSent as error:
            raise (NotSent(f"{error} {own.advice}") if own.advice else error) from error.__cause__
    if where is None:
        return _embedded(client, embedded)
    if where.startswith(("http://", "https://")):
        _refuse(embedded, "a served sandbox")  # the message omits the URL, which may contain an access code
        return _served(where, client)
    from workbench.client.calls.key_sources import signing_keys  # imported late, as a sandbox needs no profile
    from workbench.client.calls.profiles import client_settings, open_profile

    profile = open_profile(where)
    if profile.base_url is None:
        table = dict(profile.sandbox)
        named = {name: table.pop(name) for name in _EMBEDDED if name in table}
        named["behavior"] = {**table, **({"behavior": named["behavior"]} if "behavior" in named else {})}
        embedded = {**named, **embedded}
        invalid = _embedded_problems(embedded)
        if invalid:
            raise InvalidProfile(invalid)
        names = {**profile.wire_names, **client.pop("wire_names", {})}
        client = {"timeout": profile.timeout, "limits": profile.limits, **client, "wire_names": names}
        return _embedded(client, embedded) | {"name": profile.name}
    if profile.environment == "production" and (reason := refusal(effect=False, production=True)):
        raise InvalidProfile(f"{reason}: production profiles are disabled")
    if "tenant" in client:
        embedded["tenant"] = client["tenant"]
    _refuse(embedded, f"profile {where!r}")
    settings = client_settings(profile, client.pop("api_key", None))
    settings["wire_names"] = {**settings["wire_names"], **client.pop("wire_names", {})}
    return {
        **settings,
        **client,
        "name": profile.name,
        "behaviors": profile.sandbox,
        "keys": signing_keys(profile),
        "inbox": state_path() / f"inbox-{profile.name}.db",
    }


def _refuse(given: Mapping[str, Any], where: str) -> None:
    if given:
        text = " and ".join(f"`{name}`" for name in given)
        raise UsageError(
            f"{text} {'applies' if len(given) == 1 else 'apply'} only to an embedded sandbox, not to {where}"
        )


def _embedded_problems(given: Mapping[str, Any]) -> list[Problem]:
    """Return the problems of the arguments for an embedded sandbox."""
    if not given:
        return []
    from workbench.sandbox.embedded import problems

    return problems(given)


def _sandbox_key(sandbox: Any, guide: Mapping[str, Any], tenant: str | None) -> str:
    keys: dict[str, str] = guide["api_keys"]
    if tenant is None:
        return next(iter(keys.values()))
    first = {row.name: row.keys[0] for row in sandbox.tenants()}
    if tenant not in list(first):
        raise UsageError([not_allowed("tenant", tenant, first)], of="connect")
    return keys[first[tenant]]


def _embedded(client: dict[str, Any], embedded: dict[str, Any]) -> dict[str, Any]:
    from workbench.sandbox import Sandbox

    names = client.get("wire_names")
    sandbox = Sandbox(**embedded, wire_names=names)
    tenant = client.pop("tenant", None)
    key = sandbox.full_key if tenant is None else _sandbox_key(sandbox, sandbox.guide(), tenant)
    clock = SessionClock(sandbox)
    return {
        "sandbox": sandbox,
        "base_url": sandbox.base_url,
        "api_key": key,
        "environment": internals(sandbox).environment,
        "transport": internals(sandbox).direct(),
        "clock": clock,
        "journal": Journal(clock=clock),
        **client,
    }


def _served(url: str, client: dict[str, Any]) -> dict[str, Any]:
    from workbench.sandbox.remote import RemoteSandbox

    full_key = None
    if "api_key" in client:
        client["api_key"] = Key.of(client["api_key"])
        full_key = client["api_key"].header().decode()
    control = RemoteSandbox(url, full_key, ca_file=client.get("ca_file"))
    guide = control.guide()
    key = _sandbox_key(control, guide, client.pop("tenant", None))
    return {
        "sandbox": control,
        "base_url": control.base_url,
        "api_key": key,
        "environment": guide["environment"],
        **client,
    }
