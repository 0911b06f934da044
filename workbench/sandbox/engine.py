"""The parts of one sandbox put together: state, clock, service, faults, and the events that go out."""

from collections.abc import Collection, Mapping
from typing import Any

from workbench.interface.convert import Names, converter
from workbench.sandbox import cards, people
from workbench.sandbox.context import Clock, Environment, RequestContext, Seeds
from workbench.sandbox.delivery import WebhookDispatcher
from workbench.sandbox.events import signed
from workbench.sandbox.extensions import SettleTransaction
from workbench.sandbox.faults import FaultedResponse, FaultRules
from workbench.sandbox.service import Request, Service
from workbench.sandbox.store import Store

Record = dict[str, Any]
Deliveries = list[tuple[int, dict[str, str], bytes]]


class Engine:
    """Everything of a sandbox but its controls.

    Args:
        store: State with a world in it.
        settings: The value of each behavior.
        wire_names: Wire names that differ, by `record.attribute`.
        reach: Kinds of addresses that webhooks may go to.
        webhook_hosts: Hosts that webhooks may go to, whatever their address.
    """

    def __init__(
        self,
        store: Store,
        settings: Mapping[str, Any],
        wire_names: Names,
        reach: Collection[str],
        webhook_hosts: Collection[str],
    ) -> None:
        made = store.get("meta", "made")
        self.store = store
        self.seeds = Seeds(made["seed"], made.get("secret", ""))
        self.wire_names = wire_names
        self.clock = Clock(store, self._move_clock)
        self.environment = Environment(store, self.clock, self.seeds, settings, converter(wire_names))
        self.service = Service(made["environment"], self.environment)
        self.full_key = self.seeds.api_key("full")
        self.faults = FaultRules(self.seeds)
        self.dispatcher = WebhookDispatcher(self.environment, self.faults, reach, webhook_hosts)
        self.dispatcher.notify()

    def answer(self, request: Request) -> FaultedResponse:
        """Answer a request, and apply the fault rules to it."""
        if self.faults.rules:
            answer = self.faults.apply(self.service.handle, request, self.service.name_of(request))
        else:
            answer = FaultedResponse(response=self.service.handle(request))
        self.dispatcher.notify()
        return answer

    def context(self, name: str, record: Mapping[str, Any] | None = None) -> RequestContext:
        """Return the context of a control, with the tenant of a record."""
        context = RequestContext(self.environment, name)
        if record is not None:
            context.tenant = self.store.get("tenant", record["tenant"])
        return context

    @property
    def last_event(self) -> int:
        """The number of the last event, 0 if there is none."""
        return self.store.get("counter", "event") or 0

    def events(self, after: int = 0) -> list[Record]:
        """Return the events after a number, as they are stored."""
        numbers = range(max(after, 0) + 1, self.last_event + 1)
        return [kept for number in numbers if (kept := self.store.get("event", str(number))) is not None]

    def drain(self, after: int, api_key: str) -> tuple[Deliveries, int]:
        """Return the signed events of a key's tenant after a number, each with its number, and the last number."""
        with self.store:
            tenant = (self.store.get("key", api_key) or {}).get("tenant")
            due = [
                (kept["sequence"], *signed(self.environment, kept, (api_key,)))
                for kept in self.events(after)
                if kept["tenant"] == tenant
            ]
            return due, self.last_event

    def _move_clock(self, by: int) -> None:
        """Move the clock by milliseconds; what is due on the way happens at its own time."""
        with self.store:
            end = self.clock.at + by
            while due := sorted(
                ((row["at"], name, row) for name, row in self.store.items("due") if row["at"] <= end),
                key=lambda entry: entry[:2],
            ):
                for at, name, row in due:
                    if self.store.get("due", name) is row:
                        self.store.put("meta", "clock", max(at, self.clock.at))
                        self.store.delete("due", name)
                        self._run_due(row["do"], row["of"])
            self.store.put("meta", "clock", end)
        self.dispatcher.notify()

    def _run_due(self, action: str, key: str) -> None:
        if action == "settle":
            transaction = self.store.get("transaction", key)
            request = SettleTransaction(transaction_id=key, amount=transaction["held"])
            cards.settle(self.context("clock", transaction), request)
        else:
            kind = "user" if self.store.get("user", key) is not None else "owner"
            context = self.context("clock", self.store.get(kind, key))
            people.decide(context, kind, key, "approved", action="conclude")

    def close(self) -> None:
        """End the deliveries and close the file."""
        self.dispatcher.close()
        self.store.close()
