"""Embedded sandbox: a simulated card issuing service in this process, with its controls."""

import os
import re
import time
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from datetime import datetime
from functools import partial
from itertools import islice
from typing import TYPE_CHECKING, Any, Literal, Self, get_args

from workbench.base.arguments import check_host_names, hide_arguments_of_methods
from workbench.base.errors import Problem, UnusableFile, UsageError, not_allowed
from workbench.base.system.http_post import THIS_MACHINE
from workbench.base.system.messages import LOOPBACK, Request, Response
from workbench.sandbox.behavior import Behavior, BehaviorName, read_behavior
from workbench.sandbox.context import START, SandboxClock, milliseconds
from workbench.sandbox.controls import Controls
from workbench.sandbox.delivery import EventDelivery, signed
from workbench.sandbox.engine import Engine
from workbench.sandbox.programs import World, read_world
from workbench.sandbox.service import MAX_BODY
from workbench.sandbox.store import Members, Record, Store, Texts, in_world, open_store
from workbench.sandbox.world import new_world
from workbench.sandbox.world import world as world_of
from workbench.service.interface.assumptions import settings as settings_of
from workbench.service.interface.convert import Names
from workbench.service.interface.table import PREFIX

ServiceEnvironment = Literal["sandbox", "production"]
if TYPE_CHECKING:
    from workbench.sandbox.delivery import Post
    from workbench.sandbox.server import App
    from workbench.sandbox.transport import SandboxTransport

BASE_URL = f"https://sandbox.workbench.invalid{PREFIX}"
_MAX_DRAINED = 1_000
_DEFAULTS: Members = {
    "seed": 1,
    "environment": "sandbox",
    "behavior": "documented",
    "random_keys": False,
}


class DirectTransport:
    """In-process transport that answers calls without httpx. It also serves as a transport of `httpx.AsyncClient`.

    Args:
        handler: Function that answers a request.
    """

    is_embedded = True  # calls stay in this process

    def __init__(self, handler: Callable[[Request], Response]) -> None:
        self._handler = handler

    def respond(self, method: str, target: str, headers: Texts, body: bytes) -> "Response | SandboxTransport":
        """Return the response, or a transport that simulates a fault which delays or breaks the response."""
        path, _, query = target.partition("?")
        answer = self._handler(Request(method, path, query, headers, body))
        if answer.manner == "whole" and not answer.seconds:
            return answer
        return DirectTransport(lambda _: answer).over_httpx()

    async def handle_async_request(self, request: Any) -> Any:
        """Answer a request of `httpx.AsyncClient`."""
        return await self.over_httpx().handle_async_request(request)

    def over_httpx(self) -> "SandboxTransport":
        """Load httpx, and return a transport for httpx clients."""
        from workbench.sandbox.transport import SandboxTransport

        return SandboxTransport(self._handler)


@hide_arguments_of_methods
class Sandbox(Controls):
    """A simulated card issuing service in this process, with all operations, a seeded world, and controls.

    The same seed and the same calls give the same bytes on every machine. The sandbox opens no socket, starts no thread
    and does not read the wall clock until it is served, delivers webhooks, or has a running clock.

    Args:
        seed: Random seed of the world; default 1.
        environment: "sandbox" or "production". In "production", simulations answer 404.
        behavior: Behavior in cases that the interface document leaves open: "documented" (closest to the document),
            "observed" (like live services), or a TOML file or mapping of settings by their id in `assumptions()`, such
            as {"behavior": "observed", "settle_route": False}.
        wire_names: Wire names that differ from the declared names, by `record.attribute`.
        path: File for the state, which survives a killed process. Several processes may share the file. The file also
            stores seed, environment and behavior, which are then the defaults.
        public_webhooks: Whether webhooks may also go to public addresses, not only to this machine.
        webhook_hosts: Hosts that webhooks may go to, regardless of address.
        random_keys: Whether API keys are random. By default keys are derived from the seed and are equal on every
            machine. A sandbox that other machines can reach needs random keys. The file stores this argument, like the
            seed.
        api_key: Full API key of 16 characters or more. The other keys are derived from it. The file stores this key.
        clock: "fixed" (default) shows the seeded time until a control moves the clock. "now", a time, or a speed such
            as "x60" starts a running clock. Times of the seeded world lie before the clock's start.
        world: Seeded world: "small" (default), "program" with 240 people and a year of purchases, "large" with 1,000,
            or a TOML file with the parameters of a card program. Every world contains the records of the small world.

    Raises:
        UsageError: An argument has a value that is not allowed.
        UnusableFile: The file does not belong to a sandbox, or was created with other arguments.
    """

    def __init__(
        self,
        seed: int | None = None,
        environment: ServiceEnvironment | None = None,
        behavior: Behavior | None = None,
        *,
        wire_names: Names | None = None,
        path: str | os.PathLike[str] | None = None,
        public_webhooks: bool = False,
        webhook_hosts: Sequence[str] = (),
        random_keys: bool | None = None,
        api_key: str | None = None,
        clock: datetime | str | None = None,
        world: World | None = None,
    ) -> None:
        arguments: Record = {"seed": seed, "environment": environment, "behavior": behavior, "world": world}
        arguments |= {"clock": clock, "path": path, "api_key": api_key}
        if problems_found := problems({name: value for name, value in arguments.items() if value is not None}):
            raise UsageError(problems_found, of="Sandbox")
        check_host_names("webhook_hosts", webhook_hosts)
        name, settings = read_behavior(behavior)
        start, speed = clock_settings(clock)
        store = open_store(path)
        try:
            with store:
                given: Record = {"seed": seed, "environment": environment, "behavior": name}
                given |= {"random_keys": random_keys if api_key is None else True, "full_key": api_key}
                new = _make(store, start, world, **given)
                if new or clock is not None:
                    timer = SandboxClock(store, lambda by: None)
                    timer.set(start if new else max(timer.ms, start), speed)
        except UnusableFile:
            store.close()
            raise
        reach = {*THIS_MACHINE, *(["public"] if public_webhooks else [])}
        chosen = {**settings_of(store.get("meta", "made")["behavior"]), **settings}
        self._set_up(Engine(store, chosen, dict(wire_names or {}), reach, webhook_hosts))

    def _set_up(self, engine: Engine) -> None:
        settings = engine.store.get("meta", "made")
        self.seed: int = settings["seed"]
        self._environment: ServiceEnvironment = settings["environment"]
        self.behavior: BehaviorName = settings["behavior"]
        self.base_url = BASE_URL
        self._engine = engine
        self.clock = engine.clock
        self._key = self._engine.full_key
        self._shared: list[Any] = []  # server and URL of `share`; views of this sandbox use the same list

    @property
    def full_key(self) -> str:
        """The API key with all permissions."""
        return self._engine.full_key

    def _drain(
        self, after: int = 0, api_key: str | None = None, signing_key: str | None = None
    ) -> tuple[list[EventDelivery], int]:
        """Return the next deliveries, each with its event's number; also the number of the last event read.

        The result has at most 1,000 deliveries. If it has 1,000, more may follow.

        Args:
            after: Number of the last event of the previous call.
            api_key: Key of the tenant; default: the session's key.
            signing_key: Key that signs the deliveries; default: the key of the tenant.
        """
        engine, key = self._engine, api_key or self._key
        engine.catch_up()
        with engine.store:
            tenant = (engine.store.get("key", key) or {}).get("tenant")
            theirs = islice((kept for kept in engine.events(after) if kept["tenant"] == tenant), _MAX_DRAINED)
            due = [(kept["sequence"], *signed(engine.environment, kept, (signing_key or key,))) for kept in theirs]
            return due, due[-1][0] if len(due) == _MAX_DRAINED else engine.last_event

    def _mark(self) -> str:
        """Return the id of this world and the number of its last event, without opening a transaction."""
        world = self._engine.store.get("meta", "made").get("world", "")
        return f"{world}:{self._engine.last_event}"

    def transport(self) -> "SandboxTransport":
        """Return a transport for `httpx.Client` and `httpx.AsyncClient`."""
        return self._direct().over_httpx()

    def _direct(self, *, faults: bool = True) -> DirectTransport:
        """Return an in-process transport that loads no HTTP library.

        Args:
            faults: Whether fault rules apply to its calls.
        """
        return DirectTransport(partial(self._engine.answer, faults=faults))

    def fork(self) -> "Sandbox":
        """Return an independent copy in memory. The copy does not send the pending deliveries of the original."""
        store = Store()
        for kind, values in self._engine.store.copy().items():
            if in_world(kind) or kind.startswith("snapshot"):
                store.fill(kind, values)
        fork = Sandbox.__new__(Sandbox)
        reached = self._engine.dispatcher
        fork._set_up(
            Engine(store, self._engine.environment.settings, self._engine.wire_names, reached.reach, reached.hosts)
        )
        fork._key = self._key
        return fork

    def serve(
        self,
        host: str = "127.0.0.1",
        port: int = 0,
        hosts: Sequence[str] = (),
        *,
        certfile: str | os.PathLike[str] | None = None,
        keyfile: str | os.PathLike[str] | None = None,
        forwarded: bool = False,
    ) -> AbstractContextManager[str]:
        """Serve over HTTP within a `with` block, and yield the URL, for clients in any language.

        If other machines can connect, webhooks cannot target this machine, and receivers' responses are hidden.

        Args:
            host: Address to listen on; by default only this machine can connect.
            port: Port; 0 takes any free port.
            hosts: Accepted host names. If only this machine can connect, its own names are accepted too.
            certfile: Certificate for TLS, a PEM file.
            keyfile: Private key of the certificate, if `certfile` does not contain it.
            forwarded: Whether all requests come through a proxy. Its headers X-Forwarded-Prefix and X-Forwarded-Proto
                then determine the URLs in the guide and the documents.

        Raises:
            PortTaken: The port is in use.
            UnusableFile: The certificate or its key cannot be used.
            UsageError: Other machines can connect, and the keys are neither random nor explicit, or a wildcard address
                has no host name.
        """
        settings = self._engine.store.get("meta", "made")
        if host not in LOOPBACK and not settings.get("random_keys"):
            raise UsageError(
                "The sandbox's API keys are derived from the seed, so others know them; to serve beyond this machine, "
                "create the sandbox with api_key=… or random_keys=True."
            )
        return self._serving(host=host, port=port, hosts=hosts, certfile=certfile, keyfile=keyfile, forwarded=forwarded)

    def _serving(
        self, *, host: str = "127.0.0.1", with_new_keys: bool = False, forwarded: bool = False, **options: Any
    ) -> AbstractContextManager[str]:
        from workbench.base.system import http_server
        from workbench.sandbox.server import HEALTH, refused

        return http_server.serving(
            lambda url: self._http_app(url, host in LOOPBACK, with_new_keys, forwarded=forwarded).handle,
            host=host,
            any_host={HEALTH},
            max_body=MAX_BODY,
            refusal=refused,
            private="the API keys",
            **options,
        )

    def share(self) -> str:
        """Serve this sandbox to this machine until the sandbox is closed, and return the URL.

        Commands and curl can then use its state.

        Repeated calls return the same URL. The command `workbench --url URL …` needs no key, and curl sends the key
        from the guide. At this URL random keys replace the seeded keys, which are equal on every machine.
        """
        with self._engine.store as store:  # threads that call this at once get the same server
            if not self._shared:
                serving = self._serving(with_new_keys=not store.get("meta", "made").get("random_keys"))
                self._shared[:] = serving, serving.__enter__()
        return self._url

    @property
    def _url(self) -> str:
        """URL that `share` returned; empty if `share` was not called."""
        return self._shared[1] if self._shared else ""

    def _http_app(
        self,
        url: str,
        local: bool = True,
        with_new_keys: bool = False,
        relay: "Post | None" = None,
        forwarded: bool = False,
    ) -> "App":
        """Return the HTTP application that `serve` runs.

        Args:
            url: URL that the sandbox is served at.
            local: Whether only this machine can connect, so that the guide needs no key.
            with_new_keys: Whether random keys replace the seeded keys.
            relay: Relay that posts deliveries on the machine of a remote caller.
            forwarded: As for `serve`.
        """
        from workbench.sandbox.server import App

        if not local:
            self._engine.dispatcher.distrust_callers(relay)
        return App(self._engine, self, url, local, with_new_keys, forwarded)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Stop the server and webhook deliveries, and close the file."""
        if self._shared:
            self._shared[0].__exit__(None, None, None)
            self._shared.clear()
        self._engine.close()

    def __repr__(self) -> str:
        text = f"seed {self.seed}, {self._environment}, behavior {self.behavior}"
        count = self._engine.faults.count
        faults = f", {count} fault rule{'s' if count > 1 else ''}" if count else ""
        return f"<Sandbox {text}, at {self.clock.text()}{faults}>"


def problems(given: Members) -> list[Problem]:
    """Return the problems in a sandbox's arguments."""
    problems_found = []
    if type(given.get("seed", 1)) is not int:
        problems_found.append(Problem("seed", "type", "must be a whole number"))
    choices = get_args(ServiceEnvironment)
    if given.get("environment", choices[0]) not in choices:
        problems_found.append(not_allowed("environment", given["environment"], choices))
    try:
        clock_settings(given.get("clock"))
    except ValueError as error:
        problems_found.append(Problem("clock", "format", str(error).removeprefix("clock ")))
    if not re.fullmatch(r"[!-~]{16,200}", str(given.get("api_key", "-" * 16))):
        problems_found.append(Problem("api_key", "format", "must be 16 to 200 visible ASCII characters"))
    if not isinstance(given.get("path", ""), str | os.PathLike):
        problems_found.append(Problem("path", "type", "must be a path"))
    for name, read in (("behavior", read_behavior), ("world", read_world)):
        try:
            read(given.get(name))
        except UsageError as error:
            problems_found += error.problems
    return problems_found


def clock_settings(clock: datetime | str | None) -> tuple[int, float | None]:
    """Return the start time and the speed of a new sandbox's clock. A fixed clock has the speed None.

    Args:
        clock: "fixed" or None, "now", the time (also as text) from which the clock runs, or a speed such as "x60".

    Raises:
        UsageError: `clock` has another value.
    """
    wall = int(time.time() * 1000)
    text = "fixed" if clock is None else clock
    if isinstance(text, str):
        if text == "fixed":
            return milliseconds(START), None
        if speed := re.fullmatch(r"[x×](\d{1,5}(?:\.\d{1,3})?)", text):
            return wall, float(speed[1])
        if text == "now":
            return wall, 1.0
    try:
        moment = datetime.fromisoformat(text) if isinstance(text, str) else text
        if moment.utcoffset() is not None:
            return milliseconds(moment), 1.0
    except (ValueError, AttributeError):
        pass
    raise UsageError(
        "clock must be fixed, now, a time with its zone such as 2026-01-15T15:00:00Z, or a speed such as x60"
    )


def _make(store: Store, start: int, world: World | None, **given: object) -> bool:
    """Create the world in an empty store, or check that an existing world was created with the same arguments.

    Returns:
        Whether the world was created by this call.
    """
    settings: Record | None = store.get("meta", "made")
    program = read_world(world)
    if settings is None:
        chosen = {name: value for name, value in given.items() if value is not None}
        settings = {**_DEFAULTS, **chosen, "start": start, "world": new_world()}
        if settings["random_keys"]:
            settings["secret"] = settings.get("full_key") or os.urandom(32).hex()
        store.put("meta", "made", settings)
        for kind, values in world_of(settings, program).copy().items():
            store.fill(kind, {**dict(store.items(kind)), **values})
        return True
    if given["full_key"] not in (None, settings.get("full_key")):
        raise UnusableFile("The file was created with another API key, which cannot be changed; file left unchanged.")
    if world is not None and program != store.get("meta", "program"):
        raise UnusableFile("The file was created with another world, which cannot be changed; file left unchanged.")
    for name, value in given.items():
        if value not in (None, settings.get(name, _DEFAULTS.get(name))):
            raise UnusableFile(
                f"The file was created with {name} {settings.get(name, _DEFAULTS[name])!r}, which cannot be changed; "
                "file left unchanged."
            )
    return False
