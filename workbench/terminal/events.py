"""`workbench events …`, `listen` and `trigger`: list, redeliver, receive and forward events, and send sample events."""

import os
import sys
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from functools import partial
from typing import TYPE_CHECKING, Annotated, Any, Literal

from cyclopts import Parameter

from workbench.base.errors import not_allowed, visible
from workbench.base.schema.readers import value_of
from workbench.base.schema.walk import leaves
from workbench.base.system.http_post import ANYWHERE, ForbiddenUrl, Target, check_url, post
from workbench.base.system.seconds import monotonic
from workbench.client.calls.keys import state_folder
from workbench.client.webhooks.inbox import Inbox, last_event
from workbench.client.webhooks.verify import sign
from workbench.sandbox.internals import internals
from workbench.service.interface.events import EVENT_KINDS
from workbench.service.rendering.show import event_row
from workbench.service.rendering.text import screen_of
from workbench.terminal.binding import command
from workbench.terminal.exits import DONE, NOT_SENT, PARTLY, REFUSED, flush_line, say, usage_error, waiting_for_signals
from workbench.terminal.inputs import pairs
from workbench.terminal.operations import nested
from workbench.terminal.output import Output, show
from workbench.terminal.where import Last, Name, Setting, Text, Url, Where, Whole, chosen_profile, session

if TYPE_CHECKING:
    from workbench.client.session import Session

KEY_VARIABLE = "WORKBENCH_WEBHOOK_KEY"
_POLL_INTERVAL = 0.2  # seconds between checks for new events
_TIMEOUT = 15.0  # seconds to send an event and receive the response
_Kind: Any = Literal[tuple(EVENT_KINDS)]


def list_events(
    *,
    kind: _Kind | None = None,
    about: Text | None = None,
    last: Last = None,
    follow: bool = False,
    where: Where = Where(),
    how: Output = Output(),
) -> None:
    """List the events of the sandbox. With a profile, list the events that `listen` received.

    Args:
        kind: Show only events of this kind.
        about: Show only events about this id.
        follow: Print new events as they arrive, until Ctrl-C.
    """
    with _inbox(where) as (inbox, _), waiting_for_signals() as wait:

        def chosen(since: int) -> list[Any]:
            rows = inbox.stored(kind, since=since)
            return [row for row in rows if about in (None, row.event.id, getattr(row.event.body, "id", None))]

        rows = chosen(0)
        _say_unreadable(inbox)
        show([row.event for row in rows[-last if last else 0 :]], how)
        while follow:
            flush_line()
            wait(_POLL_INTERVAL)
            new = chosen(rows[-1].sequence if rows else 0)
            for received in new:
                _show_received(received, how)
            rows = new or rows


@command
def resend(api: "Session", event: str, /) -> Any:
    """Redeliver an event of the sandbox to its endpoints, byte for byte.

    Args:
        event: Id of the event.
    """
    return api.sandbox.resend(event)


@contextmanager
def _inbox(where: Where, *, unsigned: bool | None = None) -> Iterator[tuple[Any, str | None]]:
    """Yield an inbox and its signing key: the sandbox's, or a profile's with the events that `listen` received.

    Args:
        unsigned: When receiving, whether to accept unsigned deliveries. None only reads stored events.
    """
    key = os.environ.get(KEY_VARIABLE) or None
    if profile := chosen_profile(where):
        if not key and unsigned is False:
            raise usage_error(
                f"Set {KEY_VARIABLE} to the key that signs deliveries, or accept unsigned deliveries with --unsigned."
            )
        path = state_folder() / f"inbox-{profile}.db"
        with Inbox(path, keys=[key] if key else [], accept_unsigned=unsigned or not key) as inbox:
            yield inbox, key
        return
    with session(where) as api:
        own = _sandbox_key(api, where)
        if unsigned is None:
            yield api.inbox, key or own
            return
        source = partial(internals(api.sandbox).drain, api_key=own)
        with Inbox(keys=[own, key] if key else [own], accept_unsigned=unsigned, source=source) as inbox:
            yield inbox, key or own


def _sandbox_key(api: "Session", where: Where) -> str:
    tenants = api.sandbox.tenants()
    tenant = next((tenant for tenant in tenants if tenant.name == where.tenant), tenants[0])
    return str(api.sandbox.guide()["api_keys"][tenant.keys[0]])


def _headers(body: bytes, key: str | None) -> dict[str, str]:
    return {"Content-Type": "application/json", **({"Signature": sign(body, key)} if key else {})}


def trigger(
    kind: _Kind, /, *, forward_to: Url, set_: Annotated[list[Setting] | None, Parameter(name="--set")] = None
) -> int:
    """Send a signed sample event. The key is WORKBENCH_WEBHOOK_KEY or the sandbox's key.

    Args:
        kind: Kind of the event.
        forward_to: The http URL to which the event is sent.
        set_: Member of the body, such as application_status=denied.
    """
    from workbench.client.webhooks.verify import sample

    target = _target(forward_to)
    overrides = _overrides(kind, set_ or [])
    key = os.environ.get(KEY_VARIABLE)
    if not key:
        with session(Where()) as api:
            key = _sandbox_key(api, Where())
    event = sample(kind, key, **overrides)
    return _send(target, event.headers, event.body)


def _overrides(kind: str, texts: list[str]) -> dict[str, Any]:
    """Parse `name=value` texts as members of an event's body; a dot separates nested names."""
    fields, overrides = dict(leaves(EVENT_KINDS[kind].body)), {}
    for path, text in pairs("set", texts).items():
        if path not in fields:
            raise usage_error(f"{not_allowed('set', path, fields)}.")
        try:
            overrides[path] = value_of(fields[path], text)
        except ValueError as error:
            raise usage_error(f"--set {path}: {error}.") from None
    return nested(overrides)


def listen(
    *,
    forward_to: Url | None = None,
    port: Whole = 0,
    count: Whole | None = None,
    timeout: float | None = None,
    earlier: bool = False,
    unsigned: bool = False,
    allow_host: list[Name] | None = None,
    where: Where = Where(),
    how: Output = Output(),
) -> int:
    """Receive webhooks: verify each event, show it, and forward it byte for byte and in order.

    Without a profile, the events of your sandbox arrive as other commands cause them. Deliveries from other senders are
    accepted too. The key is WORKBENCH_WEBHOOK_KEY or the sandbox's key.

    Args:
        forward_to: Forward each verified event to this http URL.
        port: Port to receive on. 0 chooses a free port.
        count: Stop after N events.
        timeout: Stop after N seconds.
        earlier: Show earlier events too.
        unsigned: Accept unsigned deliveries and mark them unverified.
        allow_host: Another host name under which senders reach the receiver, such as a tunnel's host name.
    """
    if count is not None and count < 1:
        raise usage_error("--count must be at least 1.")
    target = _target(forward_to) if forward_to else None
    deadline = None if timeout is None else monotonic() + timeout
    with ExitStack() as stack:
        wait = stack.enter_context(waiting_for_signals())
        inbox, key = stack.enter_context(_inbox(where, unsigned=unsigned))
        seen, failed = 0 if earlier else last_event(inbox), 0
        url = stack.enter_context(inbox.serve(port=port, hosts=allow_host or ()))
        refused: object = None
        unread = 0 if earlier else len(inbox.unreadable())
        say(f"Receiving at {url}{f', forwarding to {forward_to}' if target else ''}. Press Ctrl-C to stop.")
        while True:
            for received in inbox.stored(since=seen):
                seen = max(seen, received.sequence)
                _show_received(received, how)
                failed += target is not None and not _forward(target, received, key)
                count = None if count is None else count - 1
                if count == 0:
                    return PARTLY if failed else DONE
            refused = _say_refused(inbox.refusals, refused)
            unread = _say_unreadable(inbox, unread)
            if deadline is not None and monotonic() >= deadline:
                return PARTLY if failed or count else DONE
            wait(_POLL_INTERVAL)


def _say_refused(refusals: tuple[Any, ...], last: Any) -> Any:
    """Report the deliveries that were rejected after the last reported delivery; return the new last delivery."""
    for refusal in refusals:
        if last is None or refusal.at > last.at:
            say(f"{refusal.at.astimezone():%H:%M:%S}  not stored: {visible(refusal.reason, 300)}")
    return refusals[-1] if refusals else last


def _say_unreadable(inbox: Any, known: int = 0) -> int:
    """Report unreadable signed deliveries after the first `known` deliveries; return the total number."""
    deliveries = inbox.unreadable()
    for delivery in deliveries[known:]:
        at = f"{delivery.arrived.astimezone():%m-%d %H:%M:%S}"
        say(f"{at}  stored, but could not be read: {visible(delivery.reason, 300)}", error=True)
    return len(deliveries)


def _show_received(received: Any, how: Output) -> None:
    if how.output != "table":
        show(received.event, Output(output="ndjson", fields=how.fields, reveal=how.reveal))
    else:
        screen = screen_of(sys.stdout)
        mark, status = ("✓ verified", "done") if received.verified else ("? unverified", "partly")
        row = event_row(received.event, reveal=how.reveal)
        cells = [visible(row[name], 100) for name in ("event", "status", "amount", "about") if row[name]]
        at = f"{received.arrived.astimezone():%H:%M:%S}"
        print(f"{screen.paint(mark, f'status:{status}')}  {at}  {' '.join(cells)}")
    flush_line()


def _forward(target: Target, received: Any, key: str | None) -> bool:
    result = post(target, _headers(received.raw, key), received.raw, _TIMEOUT)
    say(f"  forwarded: {result.status or result.error}")
    return result.accepted


def _target(url: str) -> Target:
    """Parse a URL to which events are sent.

    Raises:
        Exit: The URL is not http or https, contains a password, or its host is unknown.
    """
    try:
        return check_url(url, reach=ANYWHERE)
    except ForbiddenUrl as error:
        raise usage_error(
            f"--forward-to {visible(url, 200)}: {error}; expected, for example, http://127.0.0.1:8000/webhooks."
        ) from None


def _send(target: Target, headers: Mapping[str, str], body: bytes) -> int:
    result = post(target, headers, body, _TIMEOUT)
    if result.status is None:
        say(f"{str(result.error).capitalize()}.")
        return NOT_SENT
    say(f"{'Accepted' if result.accepted else 'Rejected'} ({result.status}).")
    return DONE if result.accepted else REFUSED
