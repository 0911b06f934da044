"""Events at a prompt: list them, receive and forward them, send examples."""

import http.client
import os
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, closing, contextmanager
from typing import Annotated, Any
from urllib.parse import urlsplit

from cyclopts import Parameter

from workbench import rendering
from workbench.errors import visible
from workbench.interface.events import EVENT_KINDS
from workbench.interface.walk import is_record, leaves
from workbench.rendering.screen import screen_of
from workbench.terminal.controls import KEY_VARIABLE
from workbench.terminal.ends import DONE, PARTLY, REFUSED, say, wrong
from workbench.terminal.output import Output, show
from workbench.terminal.where import Where, chosen_profile, session

_WHERE, _HOW = Where(), Output()
_WIDE = 124
_LOOK = 0.2  # seconds between looks for new events
_KINDS = ", ".join(EVENT_KINDS)


def list_events(
    *,
    kind: Annotated[str | None, Parameter(help=f"Only of this kind: {_KINDS}.")] = None,
    about: Annotated[str | None, Parameter(help="Only about this id.")] = None,
    last: Annotated[int | None, Parameter(help="Only the last ones, so many.")] = None,
    where: Annotated[Where, Parameter(name="*")] = _WHERE,
    how: Annotated[Output, Parameter(name="*")] = _HOW,
) -> int:
    """List the events of the sandbox, or, for a profile, those that `listen` received."""
    _known(kind)
    with _inbox(where) as (inbox, _):
        events = [
            event
            for event in inbox.events(kind)
            if about is None or about in {getattr(event.body, "id", None), event.id}
        ]
    events = events[-last:] if last else events
    show(_table(events) if how.output == "table" and not how.fields else events, how)
    return DONE


def _known(kind: str | None) -> None:
    if kind is not None and kind not in EVENT_KINDS:
        raise wrong(f"No event is called {visible(kind, 60)!r}; there are {_KINDS}.")


def _table(events: list[Any]) -> list[dict[str, Any]]:
    """Return events as rows; what they are about stands in them where the screen has room for two ids."""
    wide = screen_of(sys.stdout).width >= _WIDE
    return [{name: text for name, text in _line(event).items() if wide or name != "about"} for event in events]


def _line(event: Any) -> dict[str, Any]:
    """Return an event as a row for people: what, how it stands, about whom, its own id."""
    body = event.body
    spend = getattr(body, "spend", None)
    status = getattr(body, "application_status", None) or getattr(spend or body, "status", None)
    amount = getattr(spend, "amount", None)
    return {
        "event": event.kind,
        "status": str(status or ""),
        "amount": rendering.money(amount, getattr(spend, "currency", None)) if isinstance(amount, int) else "",
        "about": str(getattr(body, "id", "") if is_record(body) else ""),
        "id": event.id,
    }


def resend(
    event: Annotated[str, Parameter(help="Id of the event.")],
    /,
    *,
    forward_to: Annotated[
        str | None, Parameter(help="Send it to this http URL; to the registered endpoints where left out.")
    ] = None,
    where: Annotated[Where, Parameter(name="*")] = _WHERE,
) -> int:
    """Send one event again, byte for byte, signed with the key in WORKBENCH_WEBHOOK_KEY, or with the sandbox's."""
    target = _target(forward_to) if forward_to else None
    if target is None:
        with session(where) as api:
            show(api.sandbox.resend(event), _HOW)
        return DONE
    with _inbox(where) as (inbox, key):
        try:
            body = inbox.raw(event)
        except KeyError:
            raise wrong(f"There is no event {visible(event, 60)!r}; workbench events lists them.") from None
    return _sent(target, _signed(body, key), body)


@contextmanager
def _inbox(where: Where) -> Iterator[tuple[Any, str | None]]:
    """Return the events of a sandbox, or those that `listen` received for a profile, and the key to sign with."""
    if chosen_profile(where):
        with _kept_inbox(where) as inbox:
            yield inbox, _webhook_key()
    else:
        with session(where) as api:
            yield api.inbox, _webhook_key() or _sandbox_key(api)


def _signed(body: bytes, key: str | None) -> dict[str, str]:
    from workbench.webhooks.verify import sign

    return {"Content-Type": "application/json", **({"Signature": sign(body, key)} if key else {})}


def trigger(
    kind: Annotated[str, Parameter(help=f"Kind of event: {_KINDS}.")],
    /,
    *,
    forward_to: Annotated[str, Parameter(help="Where it is sent: an http URL.")],
    set_: Annotated[
        list[str] | None, Parameter(name="--set", help="A member of its body, as application_status=denied.")
    ] = None,
) -> int:
    """Send one example of an event, signed with the key in WORKBENCH_WEBHOOK_KEY, or with the sandbox's."""
    from workbench.webhooks.samples import sample

    _known(kind)
    target = _target(forward_to)
    event = sample(kind, _webhook_key() or _own_key(), **_members(kind, set_ or []))
    return _sent(target, event.headers, event.body)


def _members(kind: str, said: list[str]) -> dict[str, Any]:
    """Return `name=value` as members of an event's body, nested ones by a dot."""
    from workbench.terminal.arguments import value_of

    known = dict(leaves(EVENT_KINDS[kind].body))
    made: dict[str, Any] = {}
    for one in said:
        path, sign, text = one.partition("=")
        if not sign or path not in known:
            raise wrong(f"--set {visible(one, 60)}: it is name=value, with a name of {', '.join(known)}.")
        *way, last = path.split(".")
        holder = made
        for name in way:
            holder = holder.setdefault(name, {})
        holder[last] = value_of(known[path], text)
    return made


def listen(
    *,
    forward_to: Annotated[str | None, Parameter(help="Send each verified event on to this http URL.")] = None,
    port: Annotated[int, Parameter(help="Port to receive on; 0 takes a free one.")] = 0,
    count: Annotated[int | None, Parameter(help="Stop after so many events.")] = None,
    within: Annotated[float | None, Parameter(help="Stop after so many seconds.")] = None,
    earlier: Annotated[bool, Parameter(help="Show the events of before too.", negative="", show_default=False)] = False,
    unsigned: Annotated[
        bool, Parameter(help="Take unsigned deliveries too, marked unverified.", negative="", show_default=False)
    ] = False,
    where: Annotated[Where, Parameter(name="*")] = _WHERE,
    how: Annotated[Output, Parameter(name="*")] = _HOW,
) -> int:
    """Receive webhooks: verify each, show it, forward it byte for byte and in order.

    Without a profile the events of your sandbox come by themselves, as other commands cause them; deliveries of other
    senders are taken too. The key is WORKBENCH_WEBHOOK_KEY, or the sandbox's.
    """
    target = _target(forward_to) if forward_to else None
    until = None if within is None else time.monotonic() + within
    with ExitStack() as stack:
        inbox, key = stack.enter_context(_receiving(where, unsigned))
        seen, failed = 0 if earlier else inbox.mark(), 0
        url = stack.enter_context(inbox.serve(port=port))
        say(f"Receiving at {url}{f', forwarding to {forward_to}' if target else ''}. Ctrl-C ends it.")
        while True:
            for kept in inbox.kept(since=seen):
                seen = max(seen, kept.sequence)
                _tell(kept, how)
                failed += target is not None and not _forward(target, kept, key)
                count = None if count is None else count - 1
                if count == 0:
                    return PARTLY if failed else DONE
            if until is not None and time.monotonic() >= until:
                return PARTLY if failed or count else DONE
            time.sleep(_LOOK)


@contextmanager
def _receiving(where: Where, unsigned: bool) -> Iterator[tuple[Any, str | None]]:
    """Return an inbox to receive with, and the key to sign with."""
    from workbench.webhooks.inbox import Inbox

    if chosen_profile(where):
        inbox = _kept_inbox(where, unsigned)
        with inbox:
            yield inbox, _webhook_key()
        return
    with session(where) as api:
        key = _webhook_key() or _sandbox_key(api)
        keys = [key] if key else []
        with Inbox(
            keys=keys, accept_unsigned=unsigned or not keys, source=getattr(api.sandbox, "drain", None)
        ) as inbox:
            yield inbox, key


def _kept_inbox(where: Where, unsigned: bool = False) -> Any:
    from workbench.client.state import state_folder
    from workbench.webhooks.inbox import Inbox

    key = _webhook_key()
    path = state_folder() / f"inbox-{chosen_profile(where)}.db"
    return Inbox(path, keys=[key] if key else [], accept_unsigned=unsigned or not key)


def _tell(kept: Any, how: Output) -> None:
    if how.output != "table":
        show(kept.event, Output(output="ndjson", fields=how.fields, reveal=how.reveal))
    else:
        screen = screen_of(sys.stdout)
        line = _line(kept.event)
        mark = (
            screen.paint("✓ verified", "status:done")
            if kept.verified
            else screen.paint("? unverified", "status:partly")
        )
        words = " ".join(
            visible(text, 100) for text in (line["event"], line["status"], line["amount"], line["about"]) if text
        )
        print(screen.fit(f"{mark}  {words}"))
    sys.stdout.flush()


def _forward(target: tuple[str, str, int | None, str], kept: Any, key: str | None) -> bool:
    status = _post(target, _signed(kept.raw, key), kept.raw)
    good = status is not None and 200 <= status < 300
    say(f"  forwarded: {status if status is not None else 'nobody answers there'}")
    return good


def _target(url: str) -> tuple[str, str, int | None, str]:
    """Read a URL to send to.

    Raises:
        Exit: It is not http or https, or holds a password.
    """
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError:
        raise wrong(f"{visible(url, 200)} is not a URL.") from None
    if parts.scheme not in {"http", "https"} or not parts.hostname or "@" in parts.netloc:
        raise wrong(f"{visible(url, 200)} is not a URL to send to; it is like http://127.0.0.1:8000/webhooks.")
    return parts.scheme, parts.hostname, port, (parts.path or "/") + (f"?{parts.query}" if parts.query else "")


def _post(target: tuple[str, str, int | None, str], headers: Mapping[str, str], body: bytes) -> int | None:
    """Send bytes, and give the status of the answer; None where nobody answers. Redirects are not followed."""
    scheme, host, port, path = target
    kind = http.client.HTTPSConnection if scheme == "https" else http.client.HTTPConnection
    connection = kind(host, port, timeout=15)
    try:
        connection.request("POST", path, body, dict(headers))
        return connection.getresponse().status
    except (OSError, http.client.HTTPException):
        return None
    finally:
        connection.close()


def _sent(target: tuple[str, str, int | None, str], headers: Mapping[str, str], body: bytes) -> int:
    status = _post(target, headers, body)
    if status is None:
        say("Nobody answers there.")
        return 6
    good = 200 <= status < 300
    say(f"{'Taken' if good else 'Refused'} with {status}.")
    return DONE if good else REFUSED


def _webhook_key() -> str | None:
    return os.environ.get(KEY_VARIABLE) or None


def _own_key() -> str:
    """Return the key of this user's own sandbox."""
    from workbench.terminal.keeping import kept_sandbox

    with closing(kept_sandbox()) as sandbox:
        key: str = sandbox.full_key
        return key


def _sandbox_key(api: Any) -> str | None:
    keys = api.sandbox.guide()["api_keys"]
    return str(next(iter(keys.values())))
