"""The controls of outgoing webhooks and of fault rules."""

from collections.abc import Callable
from datetime import datetime

import attrs

from workbench.http_post import ForbiddenUrl, check_url
from workbench.interface import table
from workbench.interface.events import EVENT_KINDS
from workbench.interface.walk import build
from workbench.sandbox.clock import moment_of
from workbench.sandbox.control import ControlGroup, Record, control, not_found, usage_error
from workbench.sandbox.extensions import ROWS
from workbench.sandbox.faults import BODIES, OF_ANSWERS, OF_DELIVERIES, Fault
from workbench.sandbox.results import Delivery, Endpoint, FaultRule, FlushResult


class WebhookControls(ControlGroup):
    """Register endpoints, inspect and repeat deliveries."""

    @control(changes=True)
    def register_endpoint(self, url: str, api_key: str | None = None, signing_key: str | None = None) -> Endpoint:
        """Deliver every later event of a tenant to a URL, signed.

        Args:
            url: URL on this machine; public addresses need a sandbox that allows them.
            api_key: A key of the tenant; default: the full key.
            signing_key: Key that signs the deliveries; default: the API key.
        """
        key = api_key or self._engine.full_key
        store = self._engine.store
        with store:
            owner = store.get("key", key)
            if owner is None:
                raise usage_error("register_endpoint", "api_key is not a key of this sandbox")
            try:
                check_url(url, reach=self._engine.dispatcher.reach)
            except ForbiddenUrl as error:
                raise usage_error("register_endpoint", f"url cannot be used: {error}") from None
            endpoint = self._engine.seeds.uuid(f"endpoint:{store.next('endpoint')}")
            row = {
                "id": endpoint, "url": url, "tenant": owner["tenant"], "keys": [signing_key or key], "enabled": True,
                "next": self._engine.last_event + 1,
            }  # fmt: skip
            store.put("endpoint", endpoint, row)
        self._engine.dispatcher.notify()
        return _shown(row)

    @control(changes=True)
    def rotate_signing_key(self, endpoint_id: str, signing_key: str) -> Endpoint:
        """Sign deliveries to an endpoint with a new key as well as the previous one, until the next rotation."""
        if not signing_key.strip():
            raise usage_error("rotate_signing_key", "signing_key must not be empty")
        return self._change_endpoint(
            "rotate_signing_key", endpoint_id, lambda row: {"keys": [signing_key, row["keys"][0]]}
        )

    @control(changes=True)
    def enable_endpoint(self, endpoint_id: str, enabled: bool = True) -> Endpoint:
        """Resume deliveries to an endpoint, for example one that answered 410, or pause them."""
        return self._change_endpoint("enable_endpoint", endpoint_id, lambda row: {"enabled": enabled})

    @control(changes=True)
    def remove_endpoint(self, endpoint_id: str) -> Endpoint:
        """Remove an endpoint and its deliveries."""
        store = self._engine.store
        with store:
            row = self._record("remove_endpoint", "endpoint", endpoint_id)
            store.delete("endpoint", row["id"])
            for kind in ("delivery", "waiting"):
                for key, value in store.items(kind):
                    if value["endpoint"] == row["id"]:
                        store.delete(kind, key)
        return _shown(row)

    @control(changes=False)
    def endpoints(self) -> list[Endpoint]:
        """Return the endpoints, without their keys."""
        with self._engine.store:
            return [_shown(row) for row in self._engine.store.all("endpoint")]

    @control(changes=False)
    def deliveries(self, event_id: str | None = None, state: str | None = None) -> list[Delivery]:
        """Return the deliveries in order, each with its state and every attempt.

        Args:
            event_id: Only deliveries of this event.
            state: Only deliveries that are `waiting`, `delivered` or `failed`.
        """
        with self._engine.store:
            found = [
                _delivery(row)
                for row in self._engine.store.all("delivery")
                if event_id in (None, row["event_id"]) and state in (None, row["state"])
            ]
        return sorted(found, key=lambda one: (one.sequence, one.endpoint))

    @control(changes=True)
    def resend(self, event_id: str, endpoint_id: str | None = None) -> list[Delivery]:
        """Deliver an event again, with a new series of retries.

        Args:
            event_id: Id of the event.
            endpoint_id: Only to this endpoint, also if the event is from before its registration; default: to every
                endpoint that it was delivered to.
        """
        store = self._engine.store
        with store:
            found = [
                row
                for row in store.all("delivery")
                if row["event_id"] == event_id and endpoint_id in (None, row["endpoint"])
            ]
            if not found and endpoint_id is not None:
                found = self._earlier(event_id, self._record("resend", "endpoint", endpoint_id))
            if not found:
                raise not_found("resend", "Delivery")
            again = []
            for row in found:
                row = {**row, "state": "waiting", "due": self._engine.clock.at, "tried": 0, "held": None}
                store.put("delivery", row["id"], row)
                store.put("waiting", row["id"], {"endpoint": row["endpoint"], "due": row["due"]})
                again.append(_delivery(row))
        self._engine.dispatcher.notify()
        return again

    def _earlier(self, event_id: str, endpoint: Record) -> list[Record]:
        """Return the delivery of an event from before an endpoint's registration, if its tenant has such an event."""
        engine = self._engine
        return [
            engine.dispatcher.new_delivery(endpoint["id"], number, event)
            for number, event in engine.events()
            if event["tenant"] == endpoint["tenant"] and engine.seeds.uuid(f"event:{number}") == event_id
        ]

    @control(changes=False)
    def flush(self, within: float = 10.0) -> FlushResult:
        """Wait until no delivery is due, and return whether that was reached in time.

        Args:
            within: Seconds of real time.
        """
        done = self._engine.dispatcher.flush(within)
        return FlushResult(done=done, waiting=self._engine.store.count("waiting"))

    def _change_endpoint(self, name: str, endpoint_id: str, change: Callable[[Record], Record]) -> Endpoint:
        with self._engine.store:
            row = self._record(name, "endpoint", endpoint_id)
            row = {**row, **change(row)}
            self._engine.store.put("endpoint", row["id"], row)
        self._engine.dispatcher.notify()
        return _shown(row)


class FaultControls(ControlGroup):
    """Make calls or deliveries fail on purpose."""

    @control(changes=True)
    def add_fault(
        self,
        kind: str,
        of: str | None = None,
        nth: int | None = None,
        times: int | None = None,
        probability: float = 1.0,
        seconds: float = 0.0,
        status: int = 500,
        body: str = "documented",
        retry_after: int | None = None,
    ) -> FaultRule:
        """Inject a fault into calls or webhook deliveries, until all fault rules are removed.

        Args:
            kind: For calls: latency, status, refused, reset, closed, lost, cut, malformed, slow_body; for deliveries:
                duplicate, swap, delay, bad_signature.
            of: Only this operation, as "simulate_refund", or this kind of event, as "user.updated".
            nth: Only the nth matching call, counted from now.
            times: How often at most; default: without limit.
            probability: From 0 to 1; the seed decides.
            seconds: Length of the delay, or of a slow body.
            status: HTTP status of the kind "status", 200 to 599.
            body: Form of the error body: documented, validation, msg, correlation, empty, text, html.
            retry_after: Seconds in the Retry-After header.
        """
        names = {*table.OPERATIONS, *ROWS} if kind in OF_ANSWERS else set(EVENT_KINDS)
        problems = [
            message
            for valid, message in (
                (kind in OF_ANSWERS or kind in OF_DELIVERIES, f"kind must be one of {', '.join([*OF_ANSWERS, *OF_DELIVERIES])}"),
                (of is None or of in names, f"of must be one of {', '.join(sorted(names))}"),
                (_is_whole(nth, 1), "nth must be a whole number from 1"),
                (_is_whole(times, 1), "times must be a whole number from 1"),
                (_is_number(probability, 1), "probability must be a number from 0 to 1"),
                (_is_number(seconds, 10**9), "seconds must be a number from 0"),
                (_is_whole(status, 200) and (status or 0) < 600, "status must be a whole number from 200 to 599"),
                (body in BODIES, f"body must be one of {', '.join(BODIES)}"),
                (_is_whole(retry_after, 0), "retry_after must be a whole number from 0"),
            )
            if not valid
        ]  # fmt: skip
        if problems:
            raise usage_error("add_fault", "; ".join(problems))
        rule = self._engine.faults.add(
            kind=kind, of=of, nth=nth, times=times, probability=probability, seconds=seconds, status=status, body=body,
            retry_after=retry_after,
        )  # fmt: skip
        return self._fault(rule)

    @control(changes=True)
    def clear_faults(self) -> list[FaultRule]:
        """Remove all fault rules."""
        self._engine.faults.clear()
        return []

    @control(changes=False)
    def list_faults(self) -> list[FaultRule]:
        """Return the fault rules, each with how often it was matched and applied."""
        return [self._fault(rule) for rule in self._engine.faults.rules.values()]

    def _fault(self, rule: Fault) -> FaultRule:
        matched, applied = self._engine.faults.counts(rule)
        return FaultRule(**attrs.asdict(rule), matched=matched, applied=applied)


def _shown(row: Record) -> Endpoint:
    return Endpoint(id=row["id"], url=row["url"], enabled=row["enabled"], keys=len(row["keys"]))


def _delivery(row: Record) -> Delivery:
    due = moment_of(row["due"]) if row["state"] == "waiting" else None
    attempts = [{**one, "at": datetime.fromisoformat(one["at"])} for one in row["attempts"]]
    found: Delivery = build(Delivery, {**row, "due": due, "attempts": attempts})
    return found


def _is_whole(value: object, least: int) -> bool:
    return value is None or (type(value) is int and value >= least)


def _is_number(value: object, most: float) -> bool:
    return type(value) in (int, float) and 0 <= value <= most  # type: ignore[operator]
