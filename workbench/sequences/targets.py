"""What a sequence runs against: a client, with or without the controls of a sandbox."""

import time
from collections.abc import Callable, Mapping
from datetime import UTC, datetime, timedelta
from functools import cached_property
from typing import Any, Literal

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
    """A client of a service, with the controls of its sandbox if it has one, embedded or served.

    Without a sandbox there is the time of day, the events that were received, and no record that could be looked at.
    """

    def __init__(self, api: Any, sandbox: Any = None) -> None:
        self.api = api
        self._sandbox = sandbox

    def check(self, sequence: Sequence) -> None:
        """Refuse a sequence that needs another behavior or tenant, before its first step.

        Raises:
            WrongEnvironment: It is written for what is not there.
        """
        if self._sandbox is None:
            return
        behavior, team = self._guide["behavior"], self._guide["tenant"]["team"]
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

    @cached_property
    def _guide(self) -> Mapping[str, Any]:
        guide: Mapping[str, Any] = self._sandbox.guide()
        return guide

    def now(self) -> datetime:
        """Return the time there."""
        now: datetime = datetime.now(UTC) if self._sandbox is None else self._sandbox.clock.now()
        return now

    def cursor(self) -> int:
        """Return the number of events so far."""
        return len(self.events(0)) if self._sandbox is None else int(self._sandbox.last_event())

    def events(self, after: int, until: int | None = None) -> list[Mapping[str, Any]]:
        """Return the events after a cursor, and up to another one, as wire members."""
        if self._sandbox is not None:
            found = self._sandbox.events(since=after)
            return [one["event"] for one in found if until is None or one["sequence"] <= until]
        inbox: Any = getattr(self.api, "inbox", None)
        listed = () if inbox is None else tuple(inbox.events())[after:until]
        return [strict_json.loads(inbox.raw(event.id)) for event in listed]

    def control(self, name: str, arguments: Mapping[str, Any]) -> Any:
        """Call a control of the sandbox.

        Raises:
            WrongEnvironment: There is no such control.
        """
        if self._sandbox is not None:
            return getattr(self._sandbox, name)(**arguments)
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
        if self._sandbox is not None:
            self._sandbox.advance(seconds=span.total_seconds())
        elif until is None:
            raise WrongEnvironment("a real service has no clock to move; a `wait` step waits for an event")
        else:
            deadline = time.monotonic() + span.total_seconds()
            while not until() and time.monotonic() < deadline:
                time.sleep(_POLL_INTERVAL)

    def look(self, control: Literal["balance", "state"], record_id: str) -> Any:
        """Return the balance of a card in cents, or a record as it is stored; None where it cannot be seen."""
        try:
            return None if self._sandbox is None else getattr(self._sandbox, control)(record_id)
        except ApiError:
            return None

    def example(self, path: str) -> Any:
        """Return an example id of the sandbox's guide.

        Raises:
            WrongEnvironment: There is none at that path.
        """
        if self._sandbox is None:
            raise WrongEnvironment(f"{path} is an example of our sandbox; give the parameter with an id of your own")
        value = walk.get_path(self._guide, path)
        value = value[0] if isinstance(value, list) and value else value
        if not value:
            tenant = visible(self._guide["tenant"]["name"], 80)
            raise WrongEnvironment(
                f"the tenant {tenant} has nothing at {path} of the guide; give the parameter. Nothing was sent."
            )
        return value["id"] if isinstance(value, Mapping) and "id" in value else value


def target_of(api: Any, sequence: Sequence) -> Target:
    """Return the target of a sequence for a sandbox, a session or a client.

    Raises:
        WrongEnvironment: It is a production service, or lacks what the sequence needs.
    """
    target = _target_of(api)
    target.check(sequence)
    return target


def _target_of(api: Any) -> Target:
    if isinstance(api, Sandbox):
        client = Client(base_url=api.base_url, api_key=api.full_key, transport=api.transport(), journal=False)
        return Target(client, api)
    if getattr(api, "environment", "sandbox") == "production":
        raise WrongEnvironment("sequences run in sandboxes only; this is production, and nothing was sent")
    try:
        return Target(api, api.sandbox)
    except (WrongEnvironment, AttributeError):
        return Target(api)
