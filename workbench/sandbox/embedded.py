"""The embedded sandbox: store, clock, service and controls put together."""

import os
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from threading import RLock
from typing import TYPE_CHECKING, Any, Literal, get_args

from workbench.errors import UnusableFile, hide_arguments
from workbench.interface.assumptions import BEHAVIOURS
from workbench.interface.assumptions import settings as settings_of
from workbench.interface.convert import Names, converter
from workbench.interface.table import PREFIX
from workbench.sandbox.clock import Clock
from workbench.sandbox.control import Controls
from workbench.sandbox.delivery import KINDS as DELIVERY_KINDS
from workbench.sandbox.delivery import WebhookDispatcher
from workbench.sandbox.faults import Faults, Played
from workbench.sandbox.file_store import FileBackend
from workbench.sandbox.seeds import Seeds
from workbench.sandbox.service import Request, Response, Service
from workbench.sandbox.store import Store
from workbench.sandbox.turn import Environment, RequestContext
from workbench.sandbox.wallet import TeachingWallet
from workbench.sandbox.world import populate

if TYPE_CHECKING:
    from workbench.sandbox.transport import SandboxTransport

BASE_URL = f"https://sandbox.workbench.invalid{PREFIX}"
EnvironmentName = Literal["sandbox", "production"]
Profile = Literal["documented", "observed"]
Subscriber = Callable[[dict[str, str], bytes], object]
Record = dict[str, Any]
_FIRST: Record = {"seed": 1, "environment": "sandbox", "profile": "documented"}
BROKEN: Mapping[str, type[ConnectionError]] = {
    "refused": ConnectionRefusedError,
    "reset": ConnectionResetError,
    "closed": ConnectionAbortedError,
    "lost": ConnectionAbortedError,
}
"""What a fault of the connection is to whoever calls `handle` itself."""


class Sandbox(Controls):
    """A card issuing service of one's own: the whole interface on a seeded world, in process.

    The same seed and the same calls give the same bytes on every machine. Nothing here opens a socket, starts a thread or
    reads the wall clock, until it is served or told to deliver webhooks.

    Args:
        environment: In "production" the simulations are not found.
        profile: Where the document is silent: what fits it best ("documented"), or what live services do ("observed").
        settings: Behaviors that differ from the profile's, by their id among the assumptions.
        wire_names: Wire names that differ, by `record.attribute`.
        path: A file that keeps the state, and survives a kill; several processes may share it. What it was made with
            stays: a seed, environment or profile that is not given is taken from it.
        store: Where the state is kept otherwise; an empty one is populated from the seed.
        webhooks_outside: Whether webhooks may go to public addresses as well as to this machine.

    Raises:
        UnusableFile: The file is not a sandbox's, or was made with other settings.
    """

    def __init__(
        self,
        seed: int | None = None,
        environment: EnvironmentName | None = None,
        profile: Profile | None = None,
        settings: Mapping[str, Any] | None = None,
        *,
        wire_names: Names | None = None,
        path: str | os.PathLike[str] | None = None,
        store: Store | None = None,
        webhooks_outside: bool = False,
    ) -> None:
        _check(seed, environment, profile)
        self.store = store or Store(None if path is None else FileBackend(path))
        with self.store:
            made = _made(self.store, seed=seed, environment=environment, profile=profile)
        self.seed: int = made["seed"]
        self.environment: EnvironmentName = made["environment"]
        self.profile: Profile = made["profile"]
        self.settings = {**settings_of(self.profile), **_known(settings or {})}
        self.wire_names = dict(wire_names or {})
        self.base_url = BASE_URL
        self.clock = Clock(self.store, self.move_clock)
        self.ground = Environment(self.store, self.clock, Seeds(self.seed), self.settings, converter(self.wire_names))
        self.service = Service(self.environment, self.ground)
        self._subscribers: list[tuple[Subscriber, str]] = []
        self._telling = RLock()
        self._busy = False
        self._told = 0
        self.faults = Faults(self.ground.seeds)
        self.courier = WebhookDispatcher(self.ground, self.faults, self._may_deliver)
        self.courier.outside = webhooks_outside
        if self.courier.active:
            self.courier.notify()

    def handle(self, request: Request) -> Response:
        """Answer a request; a refused one changes nothing.

        Raises:
            ConnectionError: A fault rule takes the answer away.
        """
        played = self.play(request)
        if played.manner in BROKEN:
            raise BROKEN[played.manner](f"a fault rule is on: {played.manner}")
        return played.response

    def play(self, request: Request, *, telling: bool = True) -> Played:
        """Answer a request as the fault rules want it: the answer, and how it arrives.

        Args:
            telling: Whether to tell the events at once; whoever answers within a transaction tells them after it.
        """
        if self.faults.rules:
            played = self.faults.play(self.service.handle, request, self.service.name_of(request))
        else:
            played = Played(response=self.service.handle(request))
        if telling:
            self.tell()
        return played

    def _may_deliver(self) -> bool:
        backend = self.store.backend
        return not isinstance(backend, FileBackend) or backend.file.lease("deliveries")

    @hide_arguments
    def wallet(self, admin: str) -> TeachingWallet:
        """Return the teaching wallet of an admin of the sandbox's contracts: it holds a throw-away key made from the seed.

        Raises:
            ApiError: The address is not one the sandbox made.
        """
        return TeachingWallet(self, admin)

    def transport(self) -> "SandboxTransport":
        """Return the sandbox as a transport for sync and async clients of httpx."""
        from workbench.sandbox.transport import SandboxTransport

        return SandboxTransport(self.play)

    def subscribe(self, callback: Subscriber, api_key: str | None = None) -> None:
        """Have each event from now on, as the headers and body of its delivery.

        Args:
            api_key: A key of the tenant whose events are wanted; it signs them. The full key where left out.
        """
        self.tell()
        self._told = self.store.get("counter", "event") or 0
        self._subscribers.append((callback, api_key or self.full_key))

    def tell(self) -> None:
        """Return subscribers and endpoints what they have not had yet."""
        if self.courier.active:
            self.courier.notify()
        if not self._subscribers:
            return
        with self._telling:
            if self._busy:
                return  # a subscriber's own calls are told when it has had what came before
            self._busy = True
            try:
                while (last := self.store.get("counter", "event") or 0) > self._told:
                    told, self._told = self._told, last
                    for callback, key in tuple(self._subscribers):
                        for sequence, headers, body in self.drain(told, key)[0]:
                            if sequence <= last:
                                callback(headers, body)
            finally:
                self._busy = False

    def fork(self) -> "Sandbox":
        """Return an independent copy, in memory; cheap, since records are never changed in place."""
        store = Store()
        store.load(
            (kind, key, value)
            for kind, values in self.store.copy().items()
            if kind not in DELIVERY_KINDS  # what this one delivers, the copy does not deliver again
            for key, value in values.items()
        )
        return Sandbox(
            self.seed,
            self.environment,
            self.profile,
            self.settings,
            wire_names=self.wire_names,
            store=store,
            webhooks_outside=self.courier.outside,
        )

    def serve(
        self, host: str = "127.0.0.1", port: int = 0, hosts: Sequence[str] = (), or_another: bool = False
    ) -> AbstractContextManager[str]:
        """Serve over HTTP while the context is open; it gives the URL, for any client in any language.

        Args:
            host: Only this machine reaches it, unless told otherwise.
            hosts: Names besides this machine's own under which it may be addressed.
            or_another: Take a free port where this one is in use.
        """
        from workbench.sandbox.server import serving

        return serving(self, host=host, port=port, hosts=hosts, or_another=or_another)

    def close(self) -> None:
        """End the deliveries and close the file; there is nothing to close in memory without endpoints."""
        self.courier.close()
        if isinstance(self.store.backend, FileBackend):
            self.store.backend.file.close()

    def turn(self, name: str) -> RequestContext:
        """Return a turn for a control."""
        return RequestContext(self.ground, name)

    def __repr__(self) -> str:
        faults = f", {len(self.faults.rules)} fault rules on" if self.faults.rules else ""
        return (
            f"<sandbox, seed {self.seed}, {self.environment}, profile {self.profile}, at {self.clock.text()}{faults}>"
        )


def _made(store: Store, **given: Any) -> Record:
    """Return what a state was made with; an empty one is populated."""
    made: Record | None = store.get("meta", "made")
    if made is None:
        made = {**_FIRST, **{name: value for name, value in given.items() if value is not None}}
        store.put("meta", "made", made)
        populate(store, Seeds(made["seed"]))
    for name, value in given.items():
        if value not in (None, made[name]):
            raise UnusableFile(
                f"This sandbox was made with the {name} {made[name]!r}, which stays. It was left as it is."
            )
    return made


def _check(seed: object, environment: object, profile: object) -> None:
    wrong = []
    if seed is not None and type(seed) is not int:
        wrong.append("seed must be a whole number")
    if environment is not None and environment not in get_args(EnvironmentName):
        wrong.append(f"environment must be {' or '.join(get_args(EnvironmentName))}")
    if profile is not None and profile not in get_args(Profile):
        wrong.append(f"profile must be {' or '.join(get_args(Profile))}")
    if wrong:
        raise ValueError("; ".join(wrong))


def _known(settings: Mapping[str, Any]) -> Mapping[str, Any]:
    unknown = [name for name in settings if name not in BEHAVIOURS]
    if unknown:
        raise ValueError(f"no setting of the sandbox is called {', '.join(unknown)}; see assumptions()")
    return settings
