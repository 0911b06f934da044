"""`workbench profiles learn` and `sandbox world`: behavior and world files made from what a service recorded."""

from pathlib import Path
from typing import TYPE_CHECKING

from workbench.base.errors import UnusableFile, visible
from workbench.terminal.exits import DONE, PARTLY, say, usage_error
from workbench.terminal.output import Output, show
from workbench.terminal.where import Name, Setting

if TYPE_CHECKING:
    from workbench.testing.learning import Learned


def learn(
    *files: Path,
    out: Path | None = None,
    check: Name | None = None,
    name: tuple[Setting, ...] = (),
    how: Output = Output(),
) -> int:
    """Show which assumptions recorded traffic confirms or refutes, and write a behavior file. Nothing is sent.

    Exit code 5 if the traffic differs from the behavior in `--check`.

    Args:
        files: HAR files, logs with one JSON object per line, inboxes and journals.
        out: Write a behavior file, for --behavior.
        check: Behavior to compare the traffic with: documented, observed, or a behavior file.
        name: Name of a member in a log, such as status=http.status_code.
    """
    from workbench.testing.learning import learn

    pairs = [text.partition("=") for text in name]
    if wrong := [text for text, (_, equals, _) in zip(name, pairs, strict=True) if not equals]:
        raise usage_error(f"--name {visible(wrong[0], 60)}: expected MEMBER=NAME, such as status=http.status_code.")
    try:
        learned = learn(files, against=check, names={member: path for member, _, path in pairs})
    except UnusableFile as error:
        raise usage_error(f"{error}.") from None
    report(learned, how, out, check)
    return PARTLY if check is not None and not learned.ok else DONE


def report(learned: "Learned", how: Output, out: Path | None, base: str | None = None) -> None:
    """Print what was learned, and write it as a behavior file."""
    if out is not None:
        learned.save(out, base)
        say(f"Behavior: {out}. Review it, then use it as --behavior {out}")
    if how.output == "table" and not how.fields:
        print(learned)
        return
    seen = [finding for finding in learned.findings if finding.status != "not seen"]
    columns = ("id", "status", "seen", "value", "expected", "place")
    show([{column: getattr(finding, column) for column in columns} for finding in seen], how)


def world(*files: Path, out: Path) -> None:
    """Write the numbers of a card program: users, categories, amounts, declines, refunds. No id, name or time.

    Args:
        files: Logs of webhook events, one JSON object a line, plain or gzip.
        out: The TOML file, for `sandbox serve --world`; an existing one is replaced.
    """
    from workbench.analysis.reports.worlds import world_from

    if not files:
        raise usage_error("FILES: give at least one log of events.")
    world_from(list(files)).save(out)
    say(f"World: {out}. Review it, then use it as --world {out}")
