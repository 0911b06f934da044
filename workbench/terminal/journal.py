"""`workbench journal …`, `profiles …` and `arm`: outcomes of calls, connections, and effects in production."""

import json
import sys
from collections.abc import Iterable, Iterator, Mapping
from contextlib import ExitStack, closing, contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

from cyclopts import Parameter

from workbench.base.errors import InvalidProfile, InvalidRequest, visible
from workbench.base.system.files import write_file
from workbench.base.system.process import own_address
from workbench.client.calls.evidence import EventSource, Evidence
from workbench.client.calls.journal import Journal, JournalEntry, recorder_of
from workbench.client.calls.key_sources import key_source
from workbench.client.calls.keys import state_folder
from workbench.client.calls.options import Profile
from workbench.client.calls.profiles import config_path, open_profile, profile_names
from workbench.service.interface.table import Operation
from workbench.terminal.binding import command, show_or_say
from workbench.terminal.exits import DONE, PARTLY, say, usage_error
from workbench.terminal.output import Output
from workbench.terminal.where import (
    MAX_ARMED_MINUTES,
    Last,
    Name,
    Text,
    Uuid,
    Where,
    Whole,
    armed_path,
    chosen_profile,
    complete_operations,
    complete_profiles,
    read_operation,
    session,
)

if TYPE_CHECKING:
    from workbench.client.session import Session

_File = Annotated[Path | None, Parameter(help="Journal file of an application.")]


@contextmanager
def _journal(where: Where, file: Path | None) -> Iterator[Any]:
    """Open the journal of a profile or of the user's sandbox, or a journal file, without a key or connection."""
    if where.url or where.fresh:
        raise usage_error("The journal of a new or served sandbox ends with the command, so no calls are stored.")
    name = chosen_profile(where)
    path = state_folder() / f"journal-{name or 'sandbox'}.db"
    if name is not None:
        profile = open_profile(name)
        path = Path(profile.journal) if profile.journal else path
    if file is not None:
        if not file.is_file():
            raise usage_error(f"--path: no file {visible(str(file), 200)}.")
        path = file
    with closing(Journal(path)) as journal:
        yield journal


def _evidence(
    journal: Journal, entries: Iterable[JournalEntry], where: Where, file: Path | None
) -> dict[str, Evidence]:
    """Return evidence about calls with an unknown outcome, by call id, from the events of their sandbox or profile."""
    unknown, name = [entry for entry in entries if entry.is_unknown], chosen_profile(where)
    with ExitStack() as stack:
        source: EventSource | None = None
        if unknown and file is None and name is not None:
            from workbench.client.session import InboxEvents
            from workbench.client.webhooks.inbox import Inbox

            path = state_folder() / f"inbox-{name}.db"
            inbox = stack.enter_context(Inbox(path, keys=[], accept_unsigned=True)) if path.exists() else None
            source = InboxEvents(lambda: inbox)
        elif unknown and file is None and own_address() is None:
            source = recorder_of(stack.enter_context(session(where)).journal).events
        recorder_of(journal).events = source
        return {evidence.attempt: evidence for evidence in journal.evidence_of(unknown)}


def _rows(entries: Iterable[JournalEntry], evidence: Mapping[str, Evidence], how: Output) -> list[dict[str, Any]]:
    details = () if how.output == "table" else ("operation", "status", "error", "environment", "answer")
    rows = []
    for entry in entries:
        outcome = f"{entry.final_outcome}{' (resolved)' if entry.resolution else ''}"
        row = {"started": entry.started, "id": entry.id, "outcome": outcome, "what": entry.what}
        if evidence or details:
            row["evidence"] = evidence[entry.id].verdict if entry.id in evidence else None
        row |= {name: getattr(entry, name) for name in details}
        rows.append({**row, "request": dict(entry.request)} if details else row)
    return rows


@command
def list_calls(
    *,
    outcome: Literal["done", "refused", "not_sent", "unknown", "sending"] | None = None,
    operation: Annotated[Name | None, Parameter(completer=complete_operations)] = None,
    text: Text | None = None,
    last: Last = None,
    path: _File = None,
    where: Where = Where(),
    how: Output = Output(),
) -> Any:
    """List the calls with an effect and their outcomes.

    Args:
        outcome: Show only calls with this outcome.
        operation: Show only calls of this operation.
        text: Show only calls whose description contains this text, such as an id.
    """
    name = read_operation(operation).name if operation else None
    with _journal(where, path) as journal:
        entries = journal.list(operation=name, outcome=outcome, text=text)
        shown = entries[-last:] if last else entries
        return _rows(shown, _evidence(journal, shown, where, path), how)


@command
def list_unknown(*, path: _File = None, where: Where = Where(), how: Output = Output()) -> int:
    """List calls with an unknown outcome, and for each the evidence in received events and the next step."""
    with _journal(where, path) as journal:
        entries = journal.unknown()
        evidence = _evidence(journal, entries, where, path)
    show_or_say(_rows(entries, evidence, how), how, "No call has an unknown outcome.")
    for attempt, seen in evidence.items():
        say(f"{attempt}: {seen}")
        say(f"Record this outcome: workbench journal resolve {attempt} {seen.outcome}" if seen.outcome else "")
    return DONE


@command
def resolve(
    call: str, outcome: Literal["done", "not_sent"], /, *, note: Text = "", path: _File = None, where: Where = Where()
) -> None:
    """Record the outcome of a call whose outcome was unknown. The person and the time are recorded too.

    Args:
        call: Id of the call in the list of the journal.
        outcome: The outcome that was determined.
        note: How the outcome was determined.
    """
    with _journal(where, path) as journal:
        try:
            entry = journal.resolve(call, outcome, note=note)
        except KeyError:
            raise usage_error(f"The journal has no call {visible(call, 60)!r}.") from None
    say(str(entry))


@command
def health(api: "Session", /, *, how: Output = Output()) -> int:
    """List problems with their fixes, most urgent first, then the versions and the unconfirmed assumptions in use."""
    state = api.health()
    names = ("kind", "count", "what", "fix", "last")
    rows = [{name: getattr(trouble, name) for name in names} for trouble in state.troubles]
    show_or_say(rows, how, "No problems.")
    say("Versions: " + ", ".join(f"{name} {version}" for name, version in state.versions.items()))
    if state.assumptions:
        say(f"Unconfirmed assumptions in use: {', '.join(state.assumptions)}")
    return DONE if state.ok else PARTLY


def _row(profile: Profile) -> dict[str, Any]:
    return {
        "name": profile.name,
        "environment": profile.environment,
        "base_url": profile.base_url or "embedded sandbox",
        "key": key_source(profile),
    }


@command
def list_profiles(*, how: Output = Output()) -> int:
    """List the profiles."""
    rows = []
    for name in profile_names():
        try:
            rows.append(_row(open_profile(name)))
        except InvalidProfile:
            rows.append({"name": name, "base_url": "invalid; run: workbench profiles check"})
    show_or_say(rows, how, f"No profiles yet. Add one to {config_path()} as a table [profiles.NAME].")
    return DONE


@command
def check(
    name: Annotated[str | None, Parameter(completer=complete_profiles)] = None,
    /,
    *,
    user_id: Uuid | None = None,
    live: bool = False,
    out: Path | None = None,
    how: Output = Output(),
) -> int:
    """Check this installation and its profiles. With a profile, test the assumptions about its service by reads.

    The reads are reported in the format of `learn`. The exit code is 5 if something is wrong, or if the reads refute an
    assumption.

    Args:
        name: Profile to test with reads. Without a profile, nothing is sent and nothing is changed.
        user_id: Id of a user with rewards, to verify assumptions about rewards.
        live: Confirm the use of a production profile.
        out: Write the behavior file, for --behavior.
    """
    if name is None:
        from workbench.terminal.about import check_installation

        return check_installation()
    from workbench.terminal.learning import report
    from workbench.testing.learning import learn

    with session(Where(profile=name, live=live)) as api:
        learned = learn(api, user_id=user_id)
    report(learned, how, out)
    unseen = sum(finding.status == "not seen" for finding in learned.findings)
    say(f"Assumptions that these reads could not check: {unseen}.")
    return PARTLY if any(finding.status == "refuted" for finding in learned.findings) else DONE


@command
def arm(
    *names: Annotated[str, Parameter(completer=complete_operations)],
    profile: Annotated[Name, Parameter(completer=complete_profiles)],
    reason: Text,
    minutes: Annotated[Whole, Parameter(help=f"Duration, 1 to {MAX_ARMED_MINUTES}.")] = 10,
) -> None:
    """Allow operations with an effect in production for a few minutes, after a typed confirmation.

    Args:
        names: Operations with an effect.
        profile: A production profile.
        reason: Reason, which is recorded in the journal.
    """
    operations = [read_operation(name) for name in names]
    reads = ", ".join(row.name for row in operations if not row.effect)
    if reads or not operations:
        raise usage_error(f"Only operations with an effect can be armed, not {reads or 'an empty list'}.")
    if not 1 <= minutes <= MAX_ARMED_MINUTES:
        raise usage_error(f"--minutes must be 1 to {MAX_ARMED_MINUTES}.")
    if not reason.strip():
        raise usage_error("--reason is empty.")
    opened = open_profile(profile)
    if opened.environment != "production":
        raise usage_error(f"Profile {profile} is a sandbox; operations need no arming there.")
    armed, host = [row.name for row in operations], str(opened.base_url).split("/")[2]
    say(f"PRODUCTION, {host}: {', '.join(armed)} for {minutes} minutes.")
    ask_typed(f"Type {host} to allow it: ", host)
    until = datetime.now(UTC) + timedelta(minutes=minutes)
    allowed = {"operations": armed, "until": until.isoformat(), "reason": reason.strip(), "host": host}
    write_file(armed_path(profile), json.dumps(allowed).encode())
    say(f"Armed until {until:%H:%M:%S} UTC. Use --live with --profile {profile}.")


def confirm(api: "Session", operation: Operation[..., Any], request: object) -> None:
    """Ask for a typed confirmation before an irreversible call in production.

    Raises:
        Exit: There is no terminal for the confirmation.
        InvalidRequest: The typed text does not match. Nothing was sent.
    """
    asked = operation.effect.confirm(request) if operation.effect is not None else None
    if asked is not None:
        say(f"PRODUCTION, {api.host}: {asked.says}.")
        ask_typed(f"Type {asked.types} to continue: ", asked.types)


def ask_typed(question: str, expected: str) -> None:
    """Ask for a typed confirmation.

    Raises:
        Exit: There is no terminal for the confirmation.
        InvalidRequest: The typed text does not match.
    """
    if sys.stdin is None or not (sys.stdin.isatty() and sys.stderr.isatty()):
        raise usage_error("A typed confirmation needs a terminal. Nothing was sent.")
    print(question, end="", file=sys.stderr, flush=True)
    if sys.stdin.readline().strip() != expected:
        raise InvalidRequest("the confirmation does not match", of="confirm")
