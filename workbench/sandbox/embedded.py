"""The embedded sandbox: store, clock, service and controls put together."""

from collections.abc import Callable, Mapping
from threading import RLock
from typing import TYPE_CHECKING, Any, Literal

from workbench.interface.assumptions import BEHAVIOURS
from workbench.interface.assumptions import settings as settings_of
from workbench.interface.convert import Names, wires
from workbench.interface.table import PREFIX
from workbench.sandbox.clock import Clock
from workbench.sandbox.control import Controls
from workbench.sandbox.seeds import Seeds
from workbench.sandbox.service import Request, Response, Service
from workbench.sandbox.store import Store
from workbench.sandbox.turn import Ground, Turn
from workbench.sandbox.wallet import TeachingWallet
from workbench.sandbox.world import populate

if TYPE_CHECKING:
    from workbench.sandbox.transport import SandboxTransport

BASE_URL = f"https://sandbox.workbench.invalid{PREFIX}"
Environment = Literal["sandbox", "production"]
Profile = Literal["documented", "observed"]
Subscriber = Callable[[dict[str, str], bytes], object]


class Sandbox(Controls):
    """A card issuing service of one's own: the whole interface on a seeded world, in process.

    The same seed and the same calls give the same bytes on every machine. Nothing here opens a socket, starts a thread or
    reads the wall clock.

    Args:
        environment: In "production" the simulations are not found.
        profile: Where the document is silent: what fits it best ("documented"), or what live services do ("observed").
        settings: Behaviours that differ from the profile's, by their id among the assumptions.
        wire_names: Wire names that differ, by `record.attribute`.
        store: Where the state is kept; an empty one is populated from the seed.
    """

    def __init__(
        self,
        seed: int = 1,
        environment: Environment = "sandbox",
        profile: Profile = "documented",
        settings: Mapping[str, Any] | None = None,
        *,
        wire_names: Names | None = None,
        store: Store | None = None,
    ) -> None:
        self.seed = seed
        self.environment = environment
        self.profile = profile
        self.settings = {**settings_of(profile), **_known(settings or {})}
        self.wire_names = dict(wire_names or {})
        self.base_url = BASE_URL
        self.store = store or Store()
        self.clock = Clock(self.store, self.move_clock)
        self.ground = Ground(self.store, self.clock, Seeds(seed), self.settings, wires(self.wire_names))
        with self.store:
            if self.store.get("meta", "clock") is None:
                populate(self.store, self.ground.seeds)
        self.service = Service(environment, self.ground)
        self._subscribers: list[tuple[Subscriber, str]] = []
        self._telling = RLock()
        self._busy = False
        self._told = 0
        self._snapshots = {}

    def handle(self, request: Request) -> Response:
        """Answer a request; a refused one changes nothing."""
        answer = self.service.handle(request)
        if self._subscribers:
            self.tell()
        return answer

    def wallet(self, admin: str) -> TeachingWallet:
        """Give the teaching wallet of an admin of the sandbox's contracts: it holds a throw-away key made from the seed.

        Raises:
            ApiError: The address is not one the sandbox made.
        """
        return TeachingWallet(self.wallet_sign, self.wallet_address(admin)["address"])

    def transport(self) -> "SandboxTransport":
        """Give the sandbox as a transport for sync and async clients of httpx."""
        from workbench.sandbox.transport import SandboxTransport

        return SandboxTransport(self.handle)

    def subscribe(self, callback: Subscriber, api_key: str | None = None) -> None:
        """Have each event from now on, as the headers and body of its delivery.

        Args:
            api_key: A key of the tenant whose events are wanted; it signs them. The full key where left out.
        """
        self.tell()
        self._told = self.store.get("counter", "event") or 0
        self._subscribers.append((callback, api_key or self.full_key))

    def tell(self) -> None:
        """Give subscribers what they have not had yet."""
        with self._telling:
            if self._busy or not self._subscribers:
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
        """Give an independent copy, in memory; cheap, since records are never changed in place."""
        store = Store()
        store.load((kind, key, value) for kind, values in self.store.copy().items() for key, value in values.items())
        return Sandbox(
            self.seed, self.environment, self.profile, self.settings, wire_names=self.wire_names, store=store
        )

    def turn(self, name: str) -> Turn:
        """Give a turn for a control."""
        return Turn(self.ground, name)

    def __repr__(self) -> str:
        return f"<sandbox, seed {self.seed}, {self.environment}, profile {self.profile}, at {self.clock.text()}>"


def _known(settings: Mapping[str, Any]) -> Mapping[str, Any]:
    unknown = [name for name in settings if name not in BEHAVIOURS]
    if unknown:
        raise ValueError(f"no setting of the sandbox is called {', '.join(unknown)}; see assumptions()")
    return settings
