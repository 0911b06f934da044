"""`workbench journal …`, `profiles …` and `arm`: outcomes of calls, connections, and effects in production."""

import json
import os
import sys
from collections.abc import Iterator
from contextlib import closing, contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Annotated, Any, Literal

import attrs
from cyclopts import App, Parameter

from workbench.base.errors import InvalidProfile, InvalidRequest, visible
from workbench.base.system.files import write_file
from workbench.client.calls.guards import confirmation
from workbench.client.calls.journal import Journal
from workbench.client.calls.key_sources import key_source
from workbench.client.calls.keys import state_folder
from workbench.client.calls.options import Profile
from workbench.client.calls.profiles import config_path, open_profile, profile_names
from workbench.service.interface.table import OPERATIONS, Operation
from workbench.terminal.exits import DONE, PARTLY, WRONG_INPUT, say, usage_error
from workbench.terminal.output import Output, show
from workbench.terminal.where import (
    MAX_ARMED_MINUTES,
    Name,
    Text,
    Uuid,
    Where,
    Whole,
    armed_path,
    chosen_profile,
    complete_operations,
    complete_profiles,
    session,
)

_File = Annotated[Path | None, Parameter(help="Journal file of an application.")]


@contextmanager
def _journal(where: Where, file: Path | None) -> Iterator[Any]:
    """Open the journal of a profile, of the user's sandbox, or in a file, without key or connection."""
    if where.url or where.fresh:
        raise usage_error("The journal of a new or served sandbox is not stored after the command ends.")
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


def _show(entries: list[Any], how: Output) -> None:
    details = () if how.output == "table" else ("operation", "status", "error", "environment", "answer")
    rows = []
    for entry in entries:
        outcome = f"{entry.final_outcome}{' (resolved)' if entry.resolution else ''}"
        row = {"started": entry.started, "id": entry.id, "outcome": outcome, "what": entry.what}
        row |= {name: getattr(entry, name) for name in details}
        rows.append({**row, "request": dict(entry.request)} if details else row)
    show(rows, how)


def list_calls(
    *,
    outcome: Literal["done", "refused", "not_sent", "unknown", "sending"] | None = None,
    operation: Annotated[Name | None, Parameter(completer=complete_operations)] = None,
    text: Text | None = None,
    last: Whole | None = None,
    path: _File = None,
    where: Where = Where(),
    how: Output = Output(),
) -> None:
    """List the calls with an effect and their outcomes.

    Args:
        outcome: Only calls with this outcome.
        operation: Only calls of this operation.
        text: Only calls whose description contains this text, such as an id.
        last: Show only the last N.
    """
    with _journal(where, path) as journal:
        name = operation.replace("-", "_") if operation else None
        entries = journal.list(operation=name, outcome=outcome, text=text)
    _show(entries[-last:] if last else entries, how)


def list_unknown(*, path: _File = None, where: Where = Where(), how: Output = Output()) -> None:
    """List calls with an unknown outcome, and what to do about each."""
    with _journal(where, path) as journal:
        entries = journal.unknown()
    if not entries and how.output == "table":
        say("No call has an unknown outcome.")
        return
    _show(entries, how)
    for entry in entries:
        say(f"{entry.id}: {entry.next_step}")


def resolve(
    call: str, outcome: Literal["done", "not_sent"], /, *, note: Text = "", path: _File = None, where: Where = Where()
) -> None:
    """Record the outcome of a call whose outcome was unknown, with the person and the time.

    Args:
        call: Id of the call, as the journal lists it.
        outcome: The outcome that was determined.
        note: How the outcome was determined.
    """
    with _journal(where, path) as journal:
        try:
            entry = journal.resolve(call, outcome, note=note)
        except KeyError:
            raise usage_error(f"The journal has no call {visible(call, 60)!r}.") from None
    say(str(entry))


def export(*, path: _File = None, where: Where = Where()) -> None:
    """Write the journal as NDJSON with private values masked."""
    with _journal(where, path) as journal:
        _show(list(journal), Output(output="ndjson"))
    sys.stdout.flush()


def health(*, where: Where = Where(), how: Output = Output()) -> int:
    """List what needs attention, most urgent first, each with its fix; the versions and unconfirmed assumptions."""
    with session(where) as api:
        state = api.health()
    rows = [
        {name: getattr(trouble, name) for name in ("kind", "count", "what", "fix", "last")}
        for trouble in state.troubles
    ]
    if rows or how.output != "table":
        show(rows, how)
    else:
        say("No trouble.")
    say("Versions: " + ", ".join(f"{name} {version}" for name, version in state.versions.items()))
    if state.assumptions:
        say(f"Unconfirmed assumptions in use: {', '.join(state.assumptions)}")
    return DONE if state.ok else PARTLY


app = App(name="journal", help="Calls with an effect and their outcomes.")
app.command(list_calls, name="list")
app.command(list_unknown, name="unknown")
app.command(resolve)
app.command(health)
app.command(export)


# profiles


def _row(profile: Profile) -> dict[str, Any]:
    return {
        "name": profile.name,
        "environment": profile.environment,
        "base_url": profile.base_url or "embedded sandbox",
        "key": key_source(profile),
    }


def list_profiles(*, how: Output = Output()) -> None:
    """List the profiles."""
    names = profile_names()
    if not names:
        say(f"No profiles yet. Add one to {config_path()} as a table [profiles.NAME].")
    rows = []
    for name in names:
        try:
            rows.append(_row(open_profile(name)))
        except InvalidProfile:
            unusable = "invalid; run: workbench profiles check"
            rows.append({"name": name, "environment": "", "base_url": unusable, "key": ""})
    if rows or how.output != "table":
        show(rows, how)


def show_profile(name: Annotated[str, Parameter(completer=complete_profiles)], /, *, how: Output = Output()) -> None:
    """Show the settings of a profile, and where its key comes from. The key itself is never shown.

    Args:
        name: Name of the profile.
    """
    profile = open_profile(name)
    limits = {name: value for name, value in attrs.asdict(profile.limits).items() if value is not None}
    show(
        {
            **_row(profile),
            "timeout": profile.timeout,
            "journal": profile.journal or "in the state folder",
            "wire_names": dict(profile.wire_names) or "as assumed",
            "sandbox": dict(profile.sandbox) or "–",
            "limits": limits or "none",
        },
        how,
    )


def check(
    name: Annotated[str | None, Parameter(completer=complete_profiles)] = None,
    /,
    *,
    user_id: Uuid | None = None,
    live: bool = False,
    out: Path | None = None,
    how: Output = Output(),
) -> int:
    """Validate profiles and, by reads only, the assumptions they rely on. The report is that of `learn`.

    Exit code 5 if the reads refute an assumption.

    Args:
        name: Profile to test with reads; without it only the file is checked.
        user_id: Id of a user with rewards, to verify assumptions about rewards.
        live: Confirm the use of a production profile.
        out: Write the behavior file, for --behavior.
    """
    if name is None:
        return _check_file()
    from workbench.terminal.learning import report
    from workbench.testing.exports import record
    from workbench.testing.learning import learn

    with session(Where(profile=name, live=live)) as api, TemporaryDirectory() as folder:
        path = Path(folder) / "reads.har"
        with record(api, path):
            api.verify_assumptions(user_id=user_id)
        learned = learn(path)
    report(learned, how, out)
    unseen = sum(finding.status == "not seen" for finding in learned.findings)
    say(f"{unseen} assumptions were not seen in these reads.")
    return PARTLY if any(finding.status == "refuted" for finding in learned.findings) else DONE


def _check_file() -> int:
    code = DONE
    for name in profile_names():
        try:
            open_profile(name)
            say(f"✓ {name}")
        except InvalidProfile as invalid:
            code = WRONG_INPUT
            say("\n    ".join([f"✗ {name}", *map(str, invalid.problems)]))
    if not profile_names():
        open_profile("default") if os.environ.get("WORKBENCH_BASE_URL") else say(f"No profiles in {config_path()}.")
    return code


profiles_app = App(name="profiles", help="Connection profiles.")
profiles_app.command(list_profiles, name="list")
profiles_app.command(show_profile, name="show")
profiles_app.command(check)


def arm(
    operations: Annotated[str, Parameter(completer=complete_operations)],
    /,
    *,
    profile: Annotated[Name, Parameter(completer=complete_profiles)],
    reason: Text,
    minutes: Annotated[int, Parameter(help=f"Duration, 1 to {MAX_ARMED_MINUTES}.")] = 10,
) -> None:
    """Allow operations with an effect in production for some minutes, after a typed confirmation.

    Args:
        operations: Operations with an effect, separated by commas.
        profile: A production profile.
        reason: Reason, recorded in the journal.
    """
    names = [part.strip().replace("-", "_") for part in operations.split(",") if part.strip()]
    invalid = [name for name in names if name not in OPERATIONS or not OPERATIONS[name].effect]
    if invalid or not names:
        raise usage_error(f"Not operations with an effect: {visible(', '.join(invalid), 100) or 'none given'}.")
    if not 1 <= minutes <= MAX_ARMED_MINUTES:
        raise usage_error(f"--minutes must be 1 to {MAX_ARMED_MINUTES}.")
    if not reason.strip():
        raise usage_error("--reason is empty.")
    opened = open_profile(profile)
    if opened.environment != "production":
        raise usage_error(f"Profile {profile} is a sandbox; operations need no arming there.")
    host = str(opened.base_url).split("/")[2]
    say(f"PRODUCTION, {host}: {', '.join(names)} for {minutes} minutes.")
    ask_typed(f"Type {host} to allow it: ", host)
    until = datetime.now(UTC) + timedelta(minutes=minutes)
    allowed = {"operations": names, "until": until.isoformat(), "reason": reason.strip(), "host": host}
    write_file(armed_path(profile), json.dumps(allowed).encode())
    say(f"Armed until {until:%H:%M:%S} UTC. Use --live with --profile {profile}.")


profiles_app.command(arm)


def confirm(api: Any, operation: Operation[..., Any], request: object) -> None:
    """Ask for a typed confirmation before an irreversible call in production.

    Raises:
        Exit: There is no terminal to type at.
        InvalidRequest: The typed text does not match; nothing was sent.
    """
    asked = confirmation(operation, request)
    if asked is not None:
        say(f"PRODUCTION, {api.host}: {asked.says}.")
        ask_typed(f"Type {asked.types} to continue: ", asked.types)


def ask_typed(question: str, expected: str) -> None:
    """Ask for a typed confirmation.

    Raises:
        Exit: There is no terminal to type at.
        InvalidRequest: The typed text does not match.
    """
    if sys.stdin is None or not (sys.stdin.isatty() and sys.stderr.isatty()):
        raise usage_error("This needs a terminal for a typed confirmation. Nothing was sent.")
    print(question, end="", file=sys.stderr, flush=True)
    if sys.stdin.readline().strip() != expected:
        raise InvalidRequest("the confirmation does not match", of="confirm")
