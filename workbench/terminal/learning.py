"""`workbench corpus …` and `learn`: behavior files that are learned from a service's recorded traffic."""

from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Any

from workbench.base.errors import UnusableFile
from workbench.terminal.binding import command, present
from workbench.terminal.exits import DONE, say, usage_error
from workbench.terminal.inputs import pairs
from workbench.terminal.output import Output
from workbench.terminal.where import Files, Name, Setting, Where, session

if TYPE_CHECKING:
    from workbench.testing.learning import Learned


@contextmanager
def _named_files() -> Iterator[None]:
    """Report an unusable file as wrong input, because a person named the file."""
    try:
        yield
    except UnusableFile as error:
        raise usage_error(f"{error}.") from None


@command
def add(*files: Files, to: Path, name: tuple[Setting, ...] = ()) -> None:
    """Add traffic to a corpus. Private values are replaced by values of the same shape, and nothing is sent.

    Args:
        files: HAR files, logs of JSON lines, access logs, output of curl -v, CSV files, inboxes, journals, folders.
        to: Folder of the corpus.
        name: Name that a log uses for a member, such as status=http.status_code.
    """
    from workbench.testing.corpus import Corpus

    with _named_files():
        reading = Corpus(to).add(files, names=pairs("name", name))
    for note in reading.notes():
        say(note)
    say(f"Corpus: {to}, {reading.counts['exchanges']:,} calls and {reading.counts['events']:,} events added.")


@command
def check(folder: Path, /, *, behavior: Name | None = None, against: Name | None = None) -> Any:
    """Replay a corpus on a sandbox, and list the differences.

    The exit code is 5 if a difference is not accepted, or if an accepted difference no longer occurs.

    Args:
        folder: The corpus.
        behavior: Behavior of the sandbox: documented, observed, or a behavior file.
        against: Profile of a service on which the recorded reads are repeated. In a sandbox environment the other calls
            are repeated too.
    """
    from workbench.testing.corpus import Corpus

    with _named_files(), session(Where(profile=against)) if against else nullcontext() as api:
        return Corpus(folder).check(behavior, against=api)


@command
def learn(
    *files: Files,
    out: Path | None = None,
    name: tuple[Setting, ...] = (),
    how: Output = Output(),
) -> int:
    """Find the behavior under which a replay of traffic has no differences. Nothing is sent.

    Args:
        files: Corpora, or files that `corpus add` accepts.
        out: Write a behavior file, for --behavior.
        name: Name that a log uses for a member, such as status=http.status_code.
    """
    from workbench.testing.learning import learn

    with _named_files():
        learned = learn(files, names=pairs("name", name))
    report(learned, how, out)
    return DONE


def report(learned: "Learned", how: Output, out: Path | None) -> int:
    """Show the findings, write the behavior file, and return the exit code."""
    if out is not None:
        learned.save(out)
        say(f"Behavior: {out}. Review it, then use it as --behavior {out}")
    return present(learned, how)
