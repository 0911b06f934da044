"""What a sequence runs against: a client, with or without the controls of a sandbox."""

import time
from collections.abc import Callable, Mapping
from datetime import UTC, datetime, timedelta
from typing import Any

from workbench.client.client import Client
from workbench.errors import ApiError, WrongEnvironment, visible
from workbench.interface import strict_json, walk
from workbench.interface.rules import FULL
from workbench.sandbox import Sandbox
from workbench.sandbox.extensions import ROWS
from workbench.sequences.sequence import Guide, Sequence
from workbench.session import behaviors_of

_POLL_INTERVAL = 0.1  # seconds between two looks into the inbox of a real service


class Target:
    """A client of a service's sandbox without controls: the time of day, and only the events that were received."""

    def __init__(self, api: Any) -> None:
        self.api = api

    def check(self, sequence: Sequence) -> None:
        """Refuse a sequence that needs another behavior or tenant, before its first step.

        Raises:
            WrongEnvironment: It is written for what is not there.
        """

    def now(self) -> datetime:
        """Return the time there."""
        return datetime.now(UTC)

    def cursor(self) -> int:
        """Return the number of events so far."""
        return len(self.events(0))

    def events(self, after: int, until: int | None = None) -> list[Mapping[str, Any]]:
        """Return the events after a cursor, and up to another one, as wire members."""
        inbox = getattr(self.api, "inbox", None)
        if inbox is None:
            return []
        return [strict_json.loads(inbox.raw(event.id)) for event in tuple(inbox.events())[after:until]]

    def control(self, name: str, arguments: Mapping[str, Any]) -> Any:
        """Call a control of the sandbox.

        Raises:
            WrongEnvironment: There is no such control.
        """
        if name != "settle":
            raise WrongEnvironment(f"{name} is a control of our sandbox; a real service does not have it")
        # assumed: settle_route, the route that public clients call
        if not behaviors_of(self.api).get("settle_route"):
            raise WrongEnvironment(
                "settle is a control of our sandbox, and the document has no call for it. A real sandbox may serve "
                "POST /simulate/transactions/{transactionId}/settle; sandbox.settle_route = true in its profile uses it"
            )
        return self.api.call(ROWS["settle"], {"amount": FULL, **arguments})

    def advance(self, span: timedelta, until: Callable[[], bool] | None = None) -> None:
        """Move the sandbox's clock; without one, wait until `until` is true or the span is over."""
        if until is None:
            raise WrongEnvironment("a real service has no clock to move; a `wait` step waits for an event")
        deadline = time.monotonic() + span.total_seconds()
        while not until() and time.monotonic() < deadline:
            time.sleep(_POLL_INTERVAL)

    def balance(self, card_id: str) -> Mapping[str, int] | None:
        """Return the balance of a card in cents, if it can be seen."""
        return None

    def state(self, record_id: str) -> Mapping[str, Any] | None:
        """Return a record as it is stored, if it can be seen."""
        return None

    def example(self, path: str) -> Any:
        """Return an example id of the sandbox's guide.

        Raises:
            WrongEnvironment: There is none at that path.
        """
        raise WrongEnvironment(f"{path} is an example of our sandbox; give the parameter with an id of your own")


class SandboxTarget(Target):
    """A client and the controls of its sandbox, embedded or served."""

    def __init__(self, api: Any, sandbox: Any) -> None:
        super().__init__(api)
        self._sandbox = sandbox
        self._guide: Mapping[str, Any] | None = None

    def check(self, sequence: Sequence) -> None:
        guide = self._read_guide()
        behavior, team = guide["behavior"], guide["tenant"]["team"]
        missing = None
        if sequence.profile not in (None, behavior):
            missing = f'a sandbox with behavior "{sequence.profile}", as wb.connect(behavior="{sequence.profile}")'
        elif sequence.team not in (None, team):
            missing = f"a tenant with {sequence.team} teams"
        if missing:
            found = f'behavior "{behavior}", {team} teams'
            raise WrongEnvironment(f"the sequence {sequence.name} needs {missing}; here: {found}. Nothing was sent.")
        for reference in (one for step in sequence.steps for one in step.references() if isinstance(one, Guide)):
            self.example(reference.path)

    def _read_guide(self) -> Mapping[str, Any]:
        if self._guide is None:
            self._guide = self._sandbox.guide()
        return self._guide

    def now(self) -> datetime:
        now: datetime = self._sandbox.clock.now()
        return now

    def cursor(self) -> int:
        last: int = self._sandbox.last_event()
        return last

    def events(self, after: int, until: int | None = None) -> list[Mapping[str, Any]]:
        found = self._sandbox.events(since=after)
        return [one["event"] for one in found if until is None or one["sequence"] <= until]

    def control(self, name: str, arguments: Mapping[str, Any]) -> Any:
        return getattr(self._sandbox, name)(**arguments)

    def advance(self, span: timedelta, until: Callable[[], bool] | None = None) -> None:
        self._sandbox.advance(seconds=span.total_seconds())

    def balance(self, card_id: str) -> Mapping[str, int] | None:
        balance = _found(self._sandbox.balance, card_id)
        return None if balance is None else walk.given(balance)

    def state(self, record_id: str) -> Mapping[str, Any] | None:
        state: Mapping[str, Any] | None = _found(self._sandbox.state, record_id)
        return state

    def example(self, path: str) -> Any:
        value = walk.get_path(self._read_guide(), path)
        value = value[0] if isinstance(value, list) and value else value
        if not value:
            tenant = self._read_guide()["tenant"]["name"]
            raise WrongEnvironment(
                f"the tenant {visible(tenant, 80)} has nothing at {path} of the guide; give the parameter. Nothing was sent."
            )
        return value["id"] if isinstance(value, Mapping) and "id" in value else value


def _found(read: Callable[[str], Any], id_: str) -> Any:
    try:
        return read(id_)
    except ApiError:
        return None


def target_of(api: Any) -> Target:
    """Return the target for a sandbox, a session or a client.

    Raises:
        WrongEnvironment: It is a production service.
    """
    if isinstance(api, Sandbox):
        client = Client(base_url=api.base_url, api_key=api.full_key, transport=api.transport(), journal=False)
        return SandboxTarget(client, api)
    if getattr(api, "environment", "sandbox") == "production":
        raise WrongEnvironment("sequences run in sandboxes only; this is production, and nothing was sent")
    try:
        return SandboxTarget(api, api.sandbox)
    except (WrongEnvironment, AttributeError):
        return Target(api)
