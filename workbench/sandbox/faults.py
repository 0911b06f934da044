"""Failing on purpose, by rule: which call, which time, how likely, and what goes wrong.

A rule lives as long as the process, never in the state: whoever starts a sandbox again has one that works. While any rule
is on, every answer says so in its `Workbench-Fault` header.
"""

import threading
from collections.abc import Callable, Mapping
from typing import Any

import attrs

from workbench.interface import strict_json, table
from workbench.interface.events import EVENT_KINDS
from workbench.sandbox.extensions import ROWS
from workbench.sandbox.inspection import bad, control
from workbench.sandbox.seeds import Seeds
from workbench.sandbox.service import Request, Response

HEADER = "workbench-fault"
Record = dict[str, Any]

OF_ANSWERS: Mapping[str, str] = {
    "latency": "the answer comes after `seconds`",
    "status": "another status and error body; nothing is carried out",
    "refused": "no connection; nothing is carried out",
    "reset": "the connection is reset; nothing is carried out",
    "closed": "the connection is closed without an answer; nothing is carried out",
    "lost": "it is carried out, and the connection is closed without an answer",
    "cut": "it is carried out, and half of the answer's body comes",
    "malformed": "it is carried out, and the answer's body is no JSON",
    "drip": "it is carried out, and the answer's body takes `seconds`, byte by byte",
}
"""What can go wrong with an answer."""

OF_DELIVERIES: Mapping[str, str] = {
    "duplicate": "the event is delivered twice",
    "swap": "the event is delivered after the next one",
    "delay": "the event is delivered after `seconds` of the sandbox's clock",
    "bad_signature": "the signature is wrong",
}
"""What can go wrong with a delivery of an event."""

_CARRIED_OUT = frozenset({"latency", "lost", "cut", "malformed", "drip"})

BODIES: Mapping[str, Callable[[int], tuple[str, bytes]]] = {
    "documented": lambda status: _json({"statusCode": status, "error": _ERRORS.get(status, "InternalServerError"), "message": "Injected by a fault rule"}),
    "validation": lambda status: _json({"statusCode": status, "code": "FST_ERR_VALIDATION", "error": "Bad Request", "message": "body/status must be equal to one of the allowed values"}),
    "msg": lambda status: _json({"msg": "Too many requests"}),
    "correlation": lambda status: _json({"statusCode": status, "error": _ERRORS.get(status, "InternalServerError"), "message": "Injected by a fault rule", "correlationId": "00000000-0000-4000-8000-000000000000"}),
    "empty": lambda status: ("", b""),
    "text": lambda status: ("text/plain", b"upstream connect error"),
    "html": lambda status: ("text/html", b"<html><body><h1>Bad Gateway</h1></body></html>"),
}  # fmt: skip
"""Error bodies met in practice, by name."""

_ERRORS: Mapping[int, str] = {
    failure.status: failure.error for row in table.OPERATIONS.values() for failure in row.failures
}


def _json(body: Mapping[str, Any]) -> tuple[str, bytes]:
    return "application/json", strict_json.dumps(body)


@attrs.frozen(kw_only=True)
class Fault:
    """A rule."""

    id: int
    kind: str
    of: str | None  # an operation, or a kind of event; None: any
    nth: int | None  # only the nth call that it fits; None: each
    times: int | None  # at most so often
    probability: float
    seconds: float
    status: int
    body: str
    retry_after: int | None


@attrs.frozen(kw_only=True)
class Played:
    """What becomes of a request: the answer, and how it arrives."""

    response: Response
    manner: str = "whole"  # or a kind of OF_ANSWERS that concerns the connection
    seconds: float = 0.0


class Faults:
    """The rules of one sandbox, and how often each was met."""

    def __init__(self, seeds: Seeds) -> None:
        self.rules: dict[int, Fault] = {}
        self._seeds = seeds
        self._met: dict[int, int] = {}
        self._struck: dict[int, int] = {}
        self._last = 0
        self._lock = threading.Lock()

    def add(self, **how: Any) -> Fault:
        """Add a rule."""
        with self._lock:
            self._last += 1
            rule = Fault(id=self._last, **how)
            self.rules[rule.id] = rule
            return rule

    def clear(self) -> None:
        """Remove every rule."""
        with self._lock:
            self.rules.clear()

    def strike(self, name: str | None, kinds: Mapping[str, str]) -> Fault | None:
        """Return the rule that strikes a call or a delivery, or None; every rule that it fits counts it."""
        found = None
        with self._lock:
            for rule in self.rules.values():
                if rule.kind not in kinds or rule.of not in (None, name):
                    continue
                met = self._met[rule.id] = self._met.get(rule.id, 0) + 1
                if found is None and self._strikes(rule, met):
                    self._struck[rule.id] = self._struck.get(rule.id, 0) + 1
                    found = rule
        return found

    def _strikes(self, rule: Fault, met: int) -> bool:
        if rule.nth not in (None, met) or (rule.times is not None and self._struck.get(rule.id, 0) >= rule.times):
            return False
        return self._seeds.number(f"fault:{rule.id}:{met}", 0, 999_999) < rule.probability * 1_000_000

    def listed(self) -> list[Record]:
        """Return the rules, each with how often it was met and how often it struck."""
        return [
            {**attrs.asdict(rule), "met": self._met.get(number, 0), "struck": self._struck.get(number, 0)}
            for number, rule in self.rules.items()
        ]

    def play(self, answer: Callable[[Request], Response], request: Request, name: str | None) -> Played:
        """Answer a request as the rules want it."""
        rule = self.strike(name, OF_ANSWERS)
        if rule is None:
            return Played(response=self._marked(answer(request), None))
        if rule.kind in _CARRIED_OUT:
            response = answer(request)
            if rule.kind == "malformed":
                response = attrs.evolve(response, body=response.body[: len(response.body) // 2] + b"\x00<")
        else:
            content_type, body = BODIES[rule.body](rule.status)
            headers = {"content-type": content_type} if content_type else {}
            if rule.retry_after is not None:
                headers["retry-after"] = str(rule.retry_after)
            response = Response(rule.status, headers, body)
        manner = rule.kind if rule.kind not in {"latency", "status", "malformed"} else "whole"
        return Played(response=self._marked(response, rule), manner=manner, seconds=rule.seconds)

    def _marked(self, response: Response, rule: Fault | None) -> Response:
        """Say in an answer that rules are on, and which one struck."""
        word = f"{len(self.rules)} on" + (f"; {rule.kind} struck" if rule else "")
        return attrs.evolve(response, headers={**response.headers, HEADER: word})


class FaultControls:
    """The controls of faults, as methods of a sandbox."""

    faults: Faults

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
    ) -> Record:
        """Have calls, or deliveries of events, go wrong from now on, until `clear_faults`.

        Args:
            kind: Of an answer: latency, status, refused, reset, closed, lost, cut, malformed, drip; of a delivery:
                duplicate, swap, delay, bad_signature.
            of: Only this operation, as "simulate_refund", or this kind of event, as "user.updated".
            nth: Only the nth call that fits, counted from now.
            times: At most so often.
            probability: From 0 to 1; the seed decides.
            seconds: How late, or how slowly.
            status: For "status".
            body: Its form: documented, validation, msg, correlation, empty, text, html.
            retry_after: Seconds in its Retry-After header.
        """
        names = {*table.OPERATIONS, *ROWS} if kind in OF_ANSWERS else set(EVENT_KINDS)
        wrong = [
            words
            for fine, words in (
                (kind in OF_ANSWERS or kind in OF_DELIVERIES, f"kind must be one of {', '.join([*OF_ANSWERS, *OF_DELIVERIES])}"),
                (of is None or of in names, f"of must be one of {', '.join(sorted(names))}"),
                (_whole(nth, 1), "nth must be a whole number from 1"),
                (_whole(times, 1), "times must be a whole number from 1"),
                (_number(probability, 1), "probability must be a number from 0 to 1"),
                (_number(seconds, 10**9), "seconds must be a number from 0"),
                (_whole(status, 200) and (status or 0) < 600, "status must be a whole number from 200 to 599"),
                (body in BODIES, f"body must be one of {', '.join(BODIES)}"),
                (_whole(retry_after, 0), "retry_after must be a whole number from 0"),
            )
            if not fine
        ]  # fmt: skip
        if wrong:
            raise bad("add_fault", "; ".join(wrong))
        rule = self.faults.add(
            kind=kind, of=of, nth=nth, times=times, probability=probability, seconds=seconds, status=status, body=body,
            retry_after=retry_after,
        )  # fmt: skip
        return attrs.asdict(rule)

    @control(changes=True)
    def clear_faults(self) -> Record:
        """Have nothing go wrong any more."""
        self.faults.clear()
        return {"faults": []}

    @control(changes=False)
    def list_faults(self) -> list[Record]:
        """Return the rules that are on, each with how often it was met and how often it struck."""
        return self.faults.listed()


def _whole(value: object, least: int) -> bool:
    return value is None or (type(value) is int and value >= least)


def _number(value: object, most: float) -> bool:
    return type(value) in (int, float) and 0 <= value <= most  # type: ignore[operator]
