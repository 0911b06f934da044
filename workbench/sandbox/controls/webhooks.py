"""Controls of outgoing webhooks and of fault rules."""

from typing import Annotated

from workbench.base.arguments import Between
from workbench.base.errors import unknown_name
from workbench.base.schema.walk import members, snake
from workbench.base.system.http_post import ForbiddenUrl
from workbench.sandbox.context import not_found, wrong_argument
from workbench.sandbox.control_records import Delivery, Endpoint, FaultRule, FlushResult, from_json
from workbench.sandbox.controls.declaration import ControlGroup, control
from workbench.sandbox.extensions import ROWS
from workbench.sandbox.faults import BODIES, OF_DELIVERIES, FaultKind, FaultTarget
from workbench.sandbox.store import Members, Record
from workbench.service.interface import table
from workbench.service.interface.events import EVENT_KINDS

_COUNT = Between(1, 10**9)


class WebhookControls(ControlGroup):
    """Register endpoints, inspect and repeat deliveries, and inject faults into calls and deliveries."""

    @control(changes=True, transaction=False)
    def register_endpoint(self, endpoint_url: str, signing_key: str | None = None) -> Endpoint:
        """Register a URL that receives a signed delivery of every later event of the session's tenant.

        Args:
            endpoint_url: URL on this machine, or a public URL if the sandbox allows public addresses.
            signing_key: Key that signs the deliveries; default: the session's API key.
        """
        _check_signing_key(signing_key)
        try:
            # the check may resolve a host name, which must not block requests
            self._engine.dispatcher.check(endpoint_url)
        except ForbiddenUrl as error:
            raise wrong_argument("endpoint_url", "url", f"cannot be used: {error}") from None
        with self._engine.store as store:
            row = {
                "id": self._engine.seeds.uuid(f"endpoint:{store.next('endpoint')}"),
                "url": endpoint_url,
                "tenant": self._tenant_id(),
                "keys": [signing_key or self._key],
                "enabled": True,
                "next": self._engine.last_event + 1,
            }
            return self._put_endpoint(row)

    @control(changes=True)
    def update_endpoint(
        self, endpoint_id: str, enabled: bool | None = None, signing_key: str | None = None
    ) -> Endpoint:
        """Pause or resume deliveries to an endpoint, or rotate its signing key. An endpoint that answers 410 is paused.

        Args:
            endpoint_id: Id of the endpoint.
            enabled: Whether the endpoint receives deliveries.
            signing_key: New key. The previous key also signs until the next rotation.
        """
        row = self._record("endpoint", endpoint_id)
        _check_signing_key(signing_key)
        keys = row["keys"] if signing_key is None else [signing_key, row["keys"][0]]
        return self._put_endpoint({**row, "keys": keys, "enabled": row["enabled"] if enabled is None else enabled})

    @control(changes=True)
    def remove_endpoint(self, endpoint_id: str) -> Endpoint:
        """Remove an endpoint and its deliveries.

        Args:
            endpoint_id: Id of the endpoint.
        """
        store = self._engine.store
        row = self._record("endpoint", endpoint_id)
        store.delete("endpoint", row["id"])
        for kind in ("delivery", "waiting", "held"):
            store.fill(f"{kind}/{row['id']}", {})
        return _endpoint(row)

    @control(changes=False)
    def endpoints(self, all_tenants: bool = False) -> list[Endpoint]:
        """Return the tenant's endpoints without their signing keys.

        Args:
            all_tenants: Whether to include all tenants.
        """
        return [_endpoint(row) for row in self._theirs(self._engine.store.all("endpoint"), all_tenants)]

    @control(changes=False)
    def deliveries(
        self,
        event_id: str | None = None,
        state: Annotated[str | None, ("waiting", "delivered", "failed")] = None,
        all_tenants: bool = False,
    ) -> list[Delivery]:
        """Return the deliveries to the tenant's endpoints in order, each with its state and every attempt.

        Args:
            event_id: Only deliveries of this event.
            state: Only deliveries that are `waiting`, `delivered` or `failed`.
            all_tenants: Whether to return the deliveries to endpoints of all tenants.
        """
        store = self._engine.store
        rows = (
            row
            for endpoint in self._theirs(store.all("endpoint"), all_tenants)
            for row in store.all(f"delivery/{endpoint['id']}")
            if event_id in (None, row["event_id"]) and state in (None, row["state"])
        )
        return self._collect(map(_delivery, sorted(rows, key=lambda row: (row["sequence"], row["endpoint"]))))

    @control(changes=True)
    def resend(self, event_id: str, endpoint_id: str | None = None) -> list[Delivery]:
        """Deliver an event again, with a new series of retries.

        Args:
            event_id: Id of the event.
            endpoint_id: Endpoint to deliver to, even if it was registered after the event; default: every endpoint with
                a delivery of the event.
        """
        engine = self._engine
        event = engine.event_of(event_id)
        if event is None or not self._may_act_on(event):
            raise not_found("Delivery")
        chosen = engine.store.all("endpoint") if endpoint_id is None else [self._record("endpoint", endpoint_id)]
        again = []
        for endpoint in chosen:
            row = engine.store.get(f"delivery/{endpoint['id']}", str(event["sequence"]))
            if row is None and endpoint_id is not None and event["tenant"] == endpoint["tenant"]:
                row = engine.dispatcher.new_delivery(endpoint["id"], event)
            if row is not None:
                row = {**row, "state": "waiting", "due": engine.clock.ms, "tried": 0, "held": None}
                engine.dispatcher.enqueue(endpoint, row)
                again.append(_delivery(row))
        if not again:
            raise not_found("Delivery")
        return again

    @control(changes=False, transaction=False)
    def flush(self, timeout: Annotated[float, Between(0, 10**6)] = 10.0) -> FlushResult:
        """Wait until no delivery is due, and return whether all due deliveries were sent in time.

        Args:
            timeout: Seconds of real time.
        """
        ok = self._engine.dispatcher.flush(timeout)
        store = self._engine.store
        waiting = (store.count(f"{kind}/{key}") for key, _ in store.items("endpoint") for kind in ("waiting", "held"))
        return FlushResult(ok=ok, waiting=sum(waiting))

    # faults

    @control(changes=True)
    def add_fault(
        self,
        kind: FaultKind,
        of: FaultTarget | None = None,
        nth: Annotated[int | None, _COUNT] = None,
        times: Annotated[int | None, _COUNT] = None,
        probability: Annotated[float, Between(0, 1)] = 1.0,
        seconds: Annotated[float, Between(0, 10**9)] = 0.0,
        status: Annotated[int, Between(200, 599)] = 500,
        body: Annotated[str, BODIES] = "documented",
        answer: Members | None = None,
        matching: Members | None = None,
        retry_after: Annotated[int | None, Between(0, 10**9)] = None,
    ) -> FaultRule:
        """Inject a fault into calls or webhook deliveries, until all fault rules are removed.

        Args:
            kind: For calls: latency, status, refused, reset, closed, lost, cut, malformed, slow_body; for deliveries:
                duplicate, swap, delay, bad_signature.
            of: Operation such as "simulate_refund", or kind of event such as "user.updated", to limit the rule to.
            nth: Number of the matching call or delivery that fails, counted from now.
            times: Maximum number of times the rule applies; default: unlimited.
            probability: Probability from 0 to 1. The seed determines the draws.
            seconds: Duration of the delay or of the slow body, in seconds.
            status: HTTP status of the kind "status", 200 to 599.
            body: Format of the error body: documented, validation, msg, correlation, empty, text, html.
            answer: JSON body of the response, in place of `body`.
            matching: Arguments that a call must have, or members that an event must have: {"card_id": …, "amount":
                1250}.
            retry_after: Value of the Retry-After header, in seconds.
        """
        if of is not None and (of in EVENT_KINDS) != (kind in OF_DELIVERIES):
            text = f"must be {'a kind of event' if kind in OF_DELIVERIES else 'an operation'} for {kind}"
            raise wrong_argument("of", "enum", text)
        for path in matching or {}:
            names = _names_to_match(kind, of)
            if snake(path).partition(".")[0] not in names:
                problem = unknown_name(f"matching.{path}", names, "a member that the rule can match")
                raise wrong_argument(problem.path, problem.rule, problem.message)
        rule = FaultRule(
            id=self._engine.store.next("fault"),
            kind=kind,
            of=of,
            nth=nth,
            times=times,
            probability=probability,
            seconds=seconds,
            status=status,
            body=body,
            retry_after=retry_after,
            answer=answer,
            matching=matching,
        )
        return self._engine.faults.put(rule)

    @control(changes=True)
    def clear_faults(self) -> list[FaultRule]:
        """Remove all fault rules, and return them."""
        removed = self._engine.faults.rules
        self._engine.store.fill("fault", {})
        return removed

    @control(changes=False)
    def list_faults(self) -> list[FaultRule]:
        """Return the fault rules, each with the number of its matches and the number of injected faults."""
        return self._engine.faults.rules

    def _put_endpoint(self, row: Record) -> Endpoint:
        self._engine.store.put("endpoint", row["id"], row)
        return _endpoint(row)


def _names_to_match(kind: str, of: str | None) -> list[str]:
    """Return the call arguments or the event members that a fault rule of a kind can match."""
    if kind in OF_DELIVERIES:
        bodies = [row.body for name, row in EVENT_KINDS.items() if of in (None, name)]
    else:
        bodies = [row.request for name, row in (*table.OPERATIONS.items(), *ROWS.items()) if of in (None, name)]
    return sorted({member.name for body in bodies for member in members(body)})


def _check_signing_key(key: str | None) -> None:
    if key is not None and not key.strip("\0 \t\r\n\v\f"):
        raise wrong_argument("signing_key", "min_length", "must not be empty")


def _endpoint(row: Record) -> Endpoint:
    return Endpoint(id=row["id"], url=row["url"], enabled=row["enabled"], keys=len(row["keys"]))


def _delivery(row: Record) -> Delivery:
    due = row["due"] if row["state"] == "waiting" else None
    return from_json(Delivery, {**row, "due": due})
