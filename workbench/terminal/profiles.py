"""Profiles at a prompt: which there are, what they say, and what is wrong with them."""

import os
from typing import Annotated, Any

from cyclopts import Parameter

from workbench.client.settings import Profile, config_path, key_variable, open_profile, profile_names
from workbench.errors import InvalidProfile
from workbench.terminal.ends import DONE, PARTLY, WRONG_INPUT, say
from workbench.terminal.output import Output, show
from workbench.terminal.where import Where, session

_HOW = Output()


def _row(profile: Profile) -> dict[str, Any]:
    variables = [name for name in (profile.key_variable, key_variable(profile.name), "WORKBENCH_API_KEY") if name]
    found = next((name for name in variables if os.environ.get(name)), None)
    return {
        "name": profile.name,
        "environment": profile.environment,
        "base_url": profile.base_url or "a sandbox of its own",
        "key": f"in {found}" if found else f"not in the environment ({variables[0]})",
    }


def listed(*, how: Annotated[Output, Parameter(name="*")] = _HOW) -> int:
    """List the profiles."""
    names = profile_names()
    if not names:
        say(f"No profiles yet; they stand in {config_path()}, each as a table [profiles.NAME].")
    rows = []
    for name in names:
        try:
            rows.append(_row(open_profile(name)))
        except InvalidProfile:
            rows.append({"name": name, "environment": "", "base_url": "cannot be used; see profiles check", "key": ""})
    if rows or how.output != "table":
        show(rows, how)
    return DONE


def show_profile(
    name: Annotated[str, Parameter(help="Name of the profile.")],
    /,
    *,
    how: Annotated[Output, Parameter(name="*")] = _HOW,
) -> int:
    """Show a profile: all it says, and where its key would come from. The key itself is never shown."""
    profile = open_profile(name)
    limits = profile.limits
    show(
        {
            **_row(profile),
            "timeout": profile.timeout,
            "journal": profile.journal or "in the state folder",
            "wire_names": dict(profile.wire_names) or "as assumed",
            "sandbox": dict(profile.sandbox) or "–",
            "reads_per_second": limits.reads_per_second,
            "writes_per_second": limits.writes_per_second,
            "most_a_call": limits.amount,
            "most_a_run": limits.sum,
            "rows_a_run": limits.rows,
            "recipients": list(limits.recipients) if limits.recipients is not None else "anywhere",
        },
        how,
    )
    return DONE


def check(
    name: Annotated[str | None, Parameter(help="A profile to probe; without it the file alone is looked at.")] = None,
    /,
    *,
    user_id: Annotated[str | None, Parameter(help="A user with rewards, for the guesses about them.")] = None,
    live: Annotated[
        bool, Parameter(help="Say that a production profile is meant.", negative="", show_default=False)
    ] = False,
    how: Annotated[Output, Parameter(name="*")] = _HOW,
) -> int:
    """Check profiles, and with a name the guesses that rest on it: a few reads, no effects."""
    if name is None:
        return _file()
    with session(Where(profile=name, live=live)) as api:
        findings = api.verify_assumptions(user_id=user_id)
    rows = [{"guess": one.id, "verdict": str(one.verdict), "seen": one.seen, "change": one.change} for one in findings]
    tested = [row for row in rows if row["verdict"] != "untested"]
    show(tested if how.output == "table" else rows, how)
    say(f"{len(rows) - len(tested)} guesses cannot be seen by reads alone.")
    return PARTLY if findings.of("contradicted") else DONE


def _file() -> int:
    code = DONE
    for name in profile_names():
        try:
            open_profile(name)
        except InvalidProfile as invalid:
            code = WRONG_INPUT
            say(f"✗ {name}")
            for problem in invalid.problems:
                say(f"    {problem}")
        else:
            say(f"✓ {name}")
    if not profile_names():
        open_profile("default") if os.environ.get("WORKBENCH_BASE_URL") else say(f"No profiles in {config_path()}.")
    return code
