"""Webhooks out: each event of a tenant to its endpoints, signed, in order, again by the schedule until it is taken.

The state of every delivery stands in the store, so it survives a restart. Each endpoint has a thread of its own, that waits
for no other; of several processes on one file, one delivers. Times are the sandbox's: a retry falls due when its clock
says so. A kill between the receiver's answer and its note means one delivery more: receivers see an event at least once.

# assumed: registration, signing and retries of deliveries are not shown (event_endpoints, event_signing, event_retries, event_retry_spread).
"""

import threading
import time
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from workbench.interface.convert import write_moment
from workbench.sandbox.clock import moment_of
from workbench.sandbox.events import signed
from workbench.sandbox.faults import OF_DELIVERIES, Faults
from workbench.sandbox.inspection import Inspection, bad, control, unknown
from workbench.sandbox.sending import Answered, Forbidden, Target, send, target
from workbench.sandbox.store import Store
from workbench.sandbox.turn import Environment

if TYPE_CHECKING:
    pass

Record = dict[str, Any]
KINDS = ("endpoint", "delivery", "waiting")
"""Kinds of the store that are no part of the world: resetting it leaves them."""

_LOOK = 0.5  # seconds between looks for what other processes did
_GONE = 410


class WebhookDispatcher:
    """Delivers what is due, in a thread for each endpoint."""

    def __init__(self, ground: Environment, faults: Faults, may_deliver: Callable[[], bool]) -> None:
        self.ground = ground
        self.store: Store = ground.store
        self.faults = faults
        self.outside = False
        self._may_deliver = may_deliver
        self._news = threading.Condition()
        self._threads: dict[str, threading.Thread] = {}
        self._seen: dict[str, int] = {}  # by endpoint, the last event that was looked at
        self._ends = threading.Event()
        self._turns = 0  # how often there was news
        self._idle: dict[str, int] = {}  # by endpoint, the news after which it had nothing to do

    @property
    def active(self) -> bool:
        """Whether there are endpoints."""
        return bool(self.store.count("endpoint"))

    def notify(self) -> None:
        """Say that there may be something to deliver."""
        with self._news:
            self._turns += 1
            for endpoint, _ in self.store.items("endpoint"):
                if endpoint not in self._threads and not self._ends.is_set():
                    thread = threading.Thread(
                        target=self._work, args=(endpoint,), name="workbench-courier", daemon=True
                    )
                    self._threads[endpoint] = thread
                    thread.start()
            self._news.notify_all()

    def settle(self, within: float) -> bool:
        """Wait until nothing is due; give whether that was so in time."""
        self.notify()
        deadline = time.monotonic() + within
        with self._news:
            turn = self._turns
            while True:
                waited_for = [one for one, _ in self.store.items("endpoint") if self._idle.get(one, -1) < turn]
                left = deadline - time.monotonic()
                if not waited_for or left <= 0:
                    return not waited_for
                self._news.wait(left)

    def close(self) -> None:
        """End the threads."""
        with self._news:
            self._ends.set()
            self._news.notify_all()
            threads = tuple(self._threads.values())  # one that ends meanwhile takes itself out
        for thread in threads:
            thread.join(10)

    def _work(self, endpoint: str) -> None:
        while not self._ends.is_set():
            with self._news:
                turn = self._turns
            try:
                while not self._ends.is_set() and self._may_deliver() and self._step(endpoint):
                    pass
            except Exception:  # noqa: BLE001 - as a file that is busy: the next look tries again
                turn = -1
            if any(one not in self._threads for one, _ in self.store.items("endpoint")):
                self.notify()  # another process added it
            with self._news:
                if self.store.get("endpoint", endpoint) is None:
                    del self._threads[endpoint]
                    return
                self._idle[endpoint] = turn
                self._news.notify_all()
                if self._turns == turn and not self._ends.is_set():
                    self._news.wait(None if self.store.backend is None else _LOOK)

    def _step(self, endpoint: str) -> bool:
        """Deliver what is due first; give whether there was anything."""
        with self.store:
            row = self.store.get("endpoint", endpoint)
            if row is None or not row["enabled"]:
                return False
            found = self._due(row)
            if found is None:
                return False
            at, delivery, kept = found
            fault = (
                self.faults.strike(kept["kind"], OF_DELIVERIES)
                if not delivery["attempts"] and delivery["held"] is None
                else None
            )
            if fault is not None and fault.kind in {"swap", "delay"}:
                due = at + int(fault.seconds * 1000)
                self._put(row, {**delivery, "due": due, "held": "next" if fault.kind == "swap" else "time"})
                return True
            headers, body = signed(self.ground, delivery["sequence"], kept, tuple(row["keys"]))
        if fault is not None and fault.kind == "bad_signature":
            headers = {**headers, "signature": headers["signature"][::-1]}
        answered = self._send(row["url"], headers, body)
        if fault is not None and fault.kind == "duplicate":
            answered = self._send(row["url"], headers, body)
        with self.store:
            self._note(row["id"], delivery, at, answered)
        return True

    def _due(self, row: Record) -> tuple[int, Record, Record] | None:
        """Return the time, the delivery and the event of what is due first."""
        now = self.ground.clock.at
        fresh = self._fresh(row)
        held_for_next = []
        best: tuple[int, int, Record] | None = None
        for key, waiting in self.store.items("waiting"):
            if waiting["endpoint"] != row["id"]:
                continue
            delivery = self.store.get("delivery", key)
            if delivery["held"] == "next":
                held_for_next.append(delivery)  # until another one went out after it
            elif waiting["due"] <= now and (best is None or (waiting["due"], delivery["sequence"]) < best[:2]):
                best = (waiting["due"], delivery["sequence"], delivery)
        if best is None and fresh is None and held_for_next and held_for_next[0]["due"] < now:
            best = (now, held_for_next[0]["sequence"], held_for_next[0])  # no other came: it goes when the clock moves
        if fresh is not None and (best is None or (fresh["due"], fresh["sequence"]) < best[:2]):
            best = (fresh["due"], fresh["sequence"], fresh)
        if best is None:
            return None
        kept = self.store.get("event", str(best[1]))
        if kept is None:  # the world was reset meanwhile
            self.store.delete("delivery", best[2]["id"])
            self.store.delete("waiting", best[2]["id"])
            return self._due(row)
        return best[0], best[2], kept

    def _fresh(self, row: Record) -> Record | None:
        """Return the first event that the endpoint has not been sent, as a new delivery."""
        last = self.store.get("counter", "event") or 0
        start = max(row["next"], self._seen.get(row["id"], 0))
        for sequence in range(start, last + 1):
            kept = self.store.get("event", str(sequence))
            if kept is not None and kept["tenant"] == row["tenant"]:
                return {
                    "id": f"{row['id']}:{sequence}", "endpoint": row["id"], "sequence": sequence, "kind": kept["kind"],
                    "event_id": self.ground.seeds.uuid(f"event:{sequence}"), "state": "waiting", "due": kept["at"],
                    "held": None, "attempts": [],
                }  # fmt: skip
            self._seen[row["id"]] = sequence + 1
        return None

    def _send(self, url: str, headers: Mapping[str, str], body: bytes) -> Answered:
        try:
            to: Target = target(url, outside=self.outside)  # looked up each time: what a name leads to may change
        except Forbidden as error:
            return Answered(status=None, error=f"not sent: {error}")
        return send(to, headers, body)

    def _note(self, endpoint: str, delivery: Record, at: int, answered: Answered) -> None:
        row = self.store.get("endpoint", endpoint)
        if row is None:
            return
        now = max(at, delivery["due"])
        attempt = {
            "at": write_moment(moment_of(now)),
            "status": answered.status,
            "error": answered.error,
            "answer": answered.body,
        }
        attempts = [*delivery["attempts"], attempt]
        tries, first, factor, most = self.ground.settings["event_retries"]
        tried = delivery.get("tried", 0) + 1
        state, due = "waiting", now
        if answered.taken:
            state = "delivered"
        elif tried >= tries or answered.status == _GONE:
            state = "failed"
        else:
            wait = int(min(first * factor ** (tried - 1), most) * 1000)
            spread = int(wait * self.ground.settings["event_retry_spread"])
            sooner = self.ground.seeds.number(f"retry:{delivery['id']}:{len(attempts)}", 0, spread)
            due = now + wait - sooner  # so that what failed together does not come back together
        self._put(row, {**delivery, "attempts": attempts, "tried": tried, "state": state, "due": due, "held": None})
        if answered.status == _GONE:
            self.store.put("endpoint", endpoint, {**self.store.get("endpoint", endpoint), "enabled": False})
        for key, waiting in self.store.items("waiting"):  # what was to go after the next one
            one = self.store.get("delivery", key)
            if waiting["endpoint"] == endpoint and one["held"] == "next" and one["sequence"] != delivery["sequence"]:
                self.store.put("delivery", key, {**one, "held": "released"})

    def _put(self, row: Record, delivery: Record) -> None:
        self.store.put("delivery", delivery["id"], delivery)
        if delivery["state"] == "waiting":
            self.store.put("waiting", delivery["id"], {"endpoint": row["id"], "due": delivery["due"]})
        elif self.store.get("waiting", delivery["id"]) is not None:
            self.store.delete("waiting", delivery["id"])
        if delivery["sequence"] >= row["next"]:
            self.store.put("endpoint", row["id"], {**row, "next": delivery["sequence"] + 1})


class DeliveryControls(Inspection):
    """The controls of webhooks out, as methods of a sandbox."""

    courier: WebhookDispatcher

    @control(changes=True)
    def register_endpoint(self, url: str, api_key: str | None = None, signing_key: str | None = None) -> Record:
        """Have every event of a tenant from now on delivered to a URL, signed.

        Args:
            url: On this machine, unless the sandbox was told to reach public addresses.
            api_key: A key of the tenant; the full key where left out.
            signing_key: What deliveries are signed with; the API key where left out.
        """
        key = api_key or self.full_key
        with self.store:
            owner = self.store.get("key", key)
            if owner is None:
                raise bad("register_endpoint", "api_key is not a key of this sandbox")
            try:
                target(url, outside=self.courier.outside)
            except Forbidden as error:
                raise bad("register_endpoint", f"url cannot be used: {error}") from None
            endpoint = self.ground.seeds.uuid(f"endpoint:{self.store.next('endpoint')}")
            row = {
                "id": endpoint, "url": url, "tenant": owner["tenant"], "keys": [signing_key or key], "enabled": True,
                "next": (self.store.get("counter", "event") or 0) + 1,
            }  # fmt: skip
            self.store.put("endpoint", endpoint, row)
        self.courier.notify()
        return _shown(row)

    @control(changes=True)
    def rotate_signing_key(self, endpoint_id: str, signing_key: str) -> Record:
        """Have deliveries to an endpoint signed with a new key as well as the one before, until it is rotated again."""
        if not signing_key.strip():
            raise bad("rotate_signing_key", "signing_key must not be empty")
        return self._change("rotate_signing_key", endpoint_id, lambda row: {"keys": [signing_key, row["keys"][0]]})

    @control(changes=True)
    def enable_endpoint(self, endpoint_id: str, enabled: bool = True) -> Record:
        """Have an endpoint delivered to again, as after it answered 410, or no more."""
        return self._change("enable_endpoint", endpoint_id, lambda row: {"enabled": enabled})

    @control(changes=True)
    def remove_endpoint(self, endpoint_id: str) -> Record:
        """Have nothing delivered to an endpoint any more, and forget it."""
        with self.store:
            row = self._record("remove_endpoint", "endpoint", endpoint_id)
            self.store.delete("endpoint", row["id"])
            for kind in ("delivery", "waiting"):
                for key, one in self.store.items(kind):
                    if one["endpoint"] == row["id"]:
                        self.store.delete(kind, key)
        return _shown(row)

    @control(changes=False)
    def endpoints(self) -> list[Record]:
        """Return the endpoints, without their keys."""
        with self.store:
            return [_shown(row) for row in self.store.all("endpoint")]

    @control(changes=False)
    def deliveries(self, event_id: str | None = None, state: str | None = None) -> list[Record]:
        """Return the deliveries in order, each with its state and every attempt.

        Args:
            state: Only those that are waiting, delivered or failed.
        """
        with self.store:
            found = [
                {**one, "due": write_moment(moment_of(one["due"])) if one["state"] == "waiting" else None}
                for one in self.store.all("delivery")
                if event_id in (None, one["event_id"]) and state in (None, one["state"])
            ]
        return sorted(found, key=lambda one: (one["sequence"], one["endpoint"]))

    @control(changes=True)
    def resend(self, event_id: str, endpoint_id: str | None = None) -> list[Record]:
        """Have an event delivered again, with all its tries."""
        with self.store:
            found = [
                one
                for one in self.store.all("delivery")
                if one["event_id"] == event_id and endpoint_id in (None, one["endpoint"])
            ]
            if not found:
                raise unknown("resend", "Delivery")
            for one in found:
                again = {**one, "state": "waiting", "due": self.clock.at, "tried": 0, "held": None}
                self.store.put("delivery", one["id"], again)
                self.store.put("waiting", one["id"], {"endpoint": one["endpoint"], "due": again["due"]})
        self.courier.notify()
        return [{"id": one["id"], "endpoint": one["endpoint"], "event_id": event_id} for one in found]

    @control(changes=False)
    def flush(self, within: float = 10.0) -> Record:
        """Wait until no delivery is due, in seconds of real time; give whether that was so in time."""
        done = not self.courier.active or self.courier.settle(within)
        return {"done": done, "waiting": self.store.count("waiting")}

    def _change(self, name: str, endpoint_id: str, change: Callable[[Record], Record]) -> Record:
        with self.store:
            row = self._record(name, "endpoint", endpoint_id)
            row = {**row, **change(row)}
            self.store.put("endpoint", row["id"], row)
        self.courier.notify()
        return _shown(row)


def _shown(row: Record) -> Record:
    return {name: row[name] for name in ("id", "url", "enabled")} | {"keys": len(row["keys"])}
