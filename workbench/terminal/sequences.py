"""`workbench sequences …`: run and check scripted transactions."""

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import Parameter

from workbench import sequences
from workbench.base.errors import WorkbenchError, not_allowed, visible
from workbench.runs.sequences.reading import problems as problems_of
from workbench.terminal.binding import command
from workbench.terminal.exits import DONE, WRONG_INPUT, say, usage_error
from workbench.terminal.inputs import pairs
from workbench.terminal.where import Files, Setting

if TYPE_CHECKING:
    from workbench.client.session import Session


def _names(_: object) -> list[str]:
    return list(sequences.catalogue)


_Sequence = Annotated[str, Parameter(help="Name of a sequence in the catalogue, or a TOML file.", completer=_names)]


def _sequence(name: str) -> Any:
    """Return a sequence of the catalogue by its name, or read it from a file."""
    if name in sequences.catalogue:
        return sequences.catalogue[name]
    if Path(name).is_file():
        return sequences.read_toml(name)
    raise usage_error(f"Not a file, and {not_allowed('sequence', name, sequences.catalogue)}.")


def _parameters(texts: list[str]) -> dict[str, Any]:
    """Parse `name=value` texts as parameters. Numbers, true and false become values, and anything else stays text."""
    values: dict[str, Any] = dict(pairs("set", texts))
    for name, text in values.items():
        try:
            value = json.loads(text)
        except ValueError:
            continue
        values[name] = value if isinstance(value, bool | int | float) else text
    return values


@command
def run(
    api: "Session",
    sequence: _Sequence,
    /,
    *,
    set_: Annotated[list[Setting] | None, Parameter(name="--set")] = None,
    path: Path | None = None,
) -> Any:
    """Run a sequence, and show each step's result and the balances. Exit code 5 if an expectation failed.

    Args:
        set_: Set a parameter of the sequence, such as amount=2500.
        path: Store the run in this file. If the file has an interrupted run, the run is resumed.
    """
    return sequences.run(api, _sequence(sequence), path=path, **_parameters(set_ or []))


@command
def list_sequences() -> Any:
    """List the sequences of the catalogue."""
    rows = sequences.catalogue.items()
    return [{"name": name, "steps": len(sequence.steps), "doc": sequence.doc} for name, sequence in rows]


@command
def show_sequence(sequence: _Sequence, /) -> None:
    """Print a sequence as TOML, as a template for your own sequences."""
    print(_sequence(sequence).to_toml(), end="")


@command
def check(*files: Files) -> int:
    """Check sequence files, and show every problem with its step and line. No sequence is run.

    Args:
        files: TOML files.
    """
    code = DONE
    for file in files:
        try:
            problems = [str(problem) for problem in problems_of(sequences.read_toml(file))]
        except OSError as error:
            problems = [error.strerror or type(error).__name__]
        except WorkbenchError as error:
            problems = [line for line in str(error).split("\n") if line]
        say(f"{'✗' if problems else '✓'} {visible(str(file), 200)}")
        for problem in problems:
            say(f"    {visible(problem, 500)}")
        code = WRONG_INPUT if problems else code
    return code
