"""Where a sequence is played: straight on a sandbox, or behind a client with or without its controls."""

import time
from collections.abc import Callable, Mapping
from datetime import UTC, datetime, timedelta
from typing import Any
from urllib.parse import urlencode

from workbench.errors import ApiError, UnexpectedAnswer, WrongEnvironment
from workbench.interface import strict_json, walk
from workbench.interface.convert import Unreadable, converter
from workbench.interface.rules import FULL
from workbench.interface.table import KEY_HEADER, OPERATIONS, PREFIX
from workbench.sandbox import Request, Sandbox
from workbench.sandbox.extensions import ROWS
from workbench.sequences.play import Target

_JSON = {"content-type": "application/json"}
_BETWEEN = 0.1  # seconds between two looks into the inbox of a real service


def venue_of(api: Any) -> Target:
    """Return the venue for a sandbox, a session or a client.

    Raises:
        WrongEnvironment: It is a production service.
    """
    if isinstance(api, Sandbox):
        return Direct(api)
    if getattr(api, "environment", "sandbox") == "production":
        raise WrongEnvironment("sequences are played in sandboxes alone; this is production, and nothing was sent")
    try:
        sandbox = api.sandbox
    except (WrongEnvironment, AttributeError):
        return Real(api)
    return Controlled(api, sandbox)


class _OfSandbox:
    """What the controls of a sandbox give: its clock, its events, its books."""

    controlled = True

    def __init__(self, sandbox: Any) -> None:
        self.sandbox = sandbox
        self._guide: Mapping[str, Any] | None = None

    def now(self) -> datetime:
        moment: datetime = self.sandbox.clock.now()
        return moment

    def cursor(self) -> int:
        last: int = self.sandbox.last_event()
        return last

    def events(self, after: int) -> list[Mapping[str, Any]]:
        return [one["event"] for one in self.sandbox.events(since=after)]

    def control(self, name: str, arguments: Mapping[str, Any]) -> Any:
        return getattr(self.sandbox, name)(**arguments)

    def advance(self, span: timedelta, until: Callable[[], bool] | None = None) -> None:
        self.sandbox.advance(seconds=span.total_seconds())

    def balance(self, card_id: str) -> Mapping[str, int] | None:
        try:
            balance: Mapping[str, int] = self.sandbox.balance(card_id)
        except ApiError:
            return None
        return balance

    def state(self, record_id: str) -> Mapping[str, Any] | None:
        try:
            state: Mapping[str, Any] = self.sandbox.state(record_id)
        except ApiError:
            return None
        return state

    def example(self, path: str) -> Any:
        if self._guide is None:
            self._guide = self.sandbox.guide()
        value: Any = self._guide
        for part in path.split("."):
            if isinstance(value, Mapping) and part in value:
                value = value[part]
            elif isinstance(value, list) and part.isdigit() and int(part) < len(value):
                value = value[int(part)]
            else:
                raise WrongEnvironment(f"the sandbox's guide has nothing at {path}; give the parameter")
        value = value[0] if isinstance(value, list) else value
        return value["id"] if isinstance(value, Mapping) and "id" in value else value


class Controlled(_OfSandbox):
    """A client on an embedded or a served sandbox."""

    def __init__(self, api: Any, sandbox: Any) -> None:
        super().__init__(sandbox)
        self._api = api

    def call(self, operation: str, arguments: Mapping[str, Any]) -> Any:
        held = [arguments]
        del arguments  # a traceback that prints locals shows no private value
        return getattr(self._api, operation)(**held.pop())


class Direct(_OfSandbox):
    """A sandbox alone: calls go straight to its `handle`, with nothing between."""

    def __init__(self, sandbox: Sandbox) -> None:
        super().__init__(sandbox)
        self._headers = {**_JSON, KEY_HEADER.lower(): sandbox.full_key}
        self._converter = converter(sandbox.wire_names)
        self._plans = {name: _plan(row) for name, row in OPERATIONS.items()}

    def call(self, operation: str, arguments: Mapping[str, Any]) -> Any:
        row = OPERATIONS[operation]
        make, method, in_query = self._plans[operation]
        path, members = self._converter.write_request(row, walk.build(row.request, arguments))
        answer = self.sandbox.handle(
            Request(
                method,
                make(path),
                urlencode({name: _text(value) for name, value in members.items()}) if in_query else "",
                self._headers,
                b"" if in_query or not members else strict_json.dumps(members),
            )
        )
        body = strict_json.loads(answer.body) if answer.body else None
        if answer.status >= 400:
            body = body or {}
            raise ApiError.of(answer.status)(
                operation=operation,
                status=answer.status,
                error=body.get("error"),
                message=body.get("message"),
                body=body,
            )
        try:
            return self._converter.read_answer(row, body)
        except Unreadable as error:
            problems = error.problems
        raise UnexpectedAnswer(f"{operation} gave an answer that cannot be read.", problems=problems, body=body)


def _plan(row: Any) -> tuple[Callable[[Mapping[str, str]], str], str, bool]:
    template = PREFIX + row.path
    return (template.format_map if "{" in template else lambda _: template), row.method, row.in_query


def _text(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


class Real:
    """A client on a sandbox of the service itself: no controls, a clock of its own, events only as they come in."""

    controlled = False

    def __init__(self, api: Any) -> None:
        self._api = api

    def call(self, operation: str, arguments: Mapping[str, Any]) -> Any:
        held = [arguments]
        del arguments  # a traceback that prints locals shows no private value
        return getattr(self._api, operation)(**held.pop())

    def now(self) -> datetime:
        return datetime.now(UTC)

    def cursor(self) -> int:
        return len(self._received())

    def events(self, after: int) -> list[Mapping[str, Any]]:
        return self._received()[after:]

    def _received(self) -> list[Mapping[str, Any]]:
        inbox = getattr(self._api, "inbox", None)
        return [] if inbox is None else [strict_json.loads(inbox.raw(event.id)) for event in inbox.events()]

    def control(self, name: str, arguments: Mapping[str, Any]) -> Any:
        if name == "settle":
            return self._settle(arguments)
        raise WrongEnvironment(f"{name} is a control of our sandbox; a real service does not have it")

    def _settle(self, arguments: Mapping[str, Any]) -> Any:
        """Settle by the route that public clients call. assumed: settle_route"""
        if not getattr(self._api, "sandbox_settings", {}).get("settle_route"):
            raise WrongEnvironment(
                "settle is a control of our sandbox, and the document has no call for it. A real sandbox may serve "
                "POST /simulate/transactions/{transactionId}/settle; sandbox.settle_route = true in its profile uses it"
            )
        return self._api.call(ROWS["settle"], {"amount": FULL, **arguments})

    def advance(self, span: timedelta, until: Callable[[], bool] | None = None) -> None:
        if until is None:
            raise WrongEnvironment("a real service has no clock to move; a `wait` step waits for an event")
        deadline = time.monotonic() + span.total_seconds()
        while not until() and time.monotonic() < deadline:
            time.sleep(_BETWEEN)

    def balance(self, card_id: str) -> Mapping[str, int] | None:
        return None

    def state(self, record_id: str) -> Mapping[str, Any] | None:
        return None

    def example(self, path: str) -> Any:
        raise WrongEnvironment(f"{path} is an example of our sandbox; give the parameter with an id of your own")
