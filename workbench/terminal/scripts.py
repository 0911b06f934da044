"""Sequences at a prompt: run them, list them, show and check their files."""

import sys
from pathlib import Path
from typing import Annotated, Any

from cyclopts import Parameter

from workbench.errors import WorkbenchError, visible
from workbench.rendering.screen import screen_of
from workbench.terminal.ends import DONE, PARTLY, WRONG_INPUT, say, wrong
from workbench.terminal.output import Output, show
from workbench.terminal.where import Where, session

_WHERE, _HOW = Where(), Output()


def _sequence(name: str) -> Any:
    """Return a sequence of the catalogue by its name, or read it from a file."""
    from workbench import sequences

    if name in sequences.catalogue:
        return sequences.catalogue[name]
    if not Path(name).is_file():
        raise wrong(f"{visible(name, 200)!r} is neither a sequence of the catalogue nor a file.{_near(name)}")
    return sequences.load(name)


def _near(name: str) -> str:
    from difflib import get_close_matches

    from workbench import sequences

    near = get_close_matches(name, list(sequences.catalogue), 3, 0.5)
    return f" Did you mean {' or '.join(near)}?" if near else " workbench sequences list names them."


def _values(sequence: Any, said: list[str]) -> dict[str, Any]:
    from workbench.terminal.arguments import json_or_text

    made = {}
    for one in said:
        name, sign, text = one.partition("=")
        if not sign:
            raise wrong(f"--set {visible(one, 60)}: it is name=value.")
        made[name] = json_or_text(text)
    return made


def run(
    sequence: Annotated[str, Parameter(help="A name of the catalogue, or a TOML file.")],
    /,
    *,
    set_: Annotated[list[str] | None, Parameter(name="--set", help="A parameter, as amount=2500.")] = None,
    path: Annotated[Path | None, Parameter(help="Keep the run in this file, and go on with it if it is there.")] = None,
    where: Annotated[Where, Parameter(name="*")] = _WHERE,
    how: Annotated[Output, Parameter(name="*")] = _HOW,
) -> int:
    """Run a sequence: what each step came to, and the money at the end. Exit code 5 where it went otherwise."""
    from workbench import sequences

    found = _sequence(sequence)
    values = _values(found, set_ or [])
    with session(where) as api:
        if path is not None:
            done = sequences.run_kept(found, api, path, **values)
        else:
            done = sequences.run(found, api, **values)
    if how.output == "table" and not how.fields:
        print(screen_of(sys.stdout).fit(str(done)))
    else:
        show(done.rows(), how)
    say(done.verdict)
    return DONE if done.ok else PARTLY


def listed(*, how: Annotated[Output, Parameter(name="*")] = _HOW) -> int:
    """List the sequences of the catalogue."""
    from workbench import sequences

    rows = [{"name": name, "steps": len(one.steps), "doc": one.doc} for name, one in sequences.catalogue.items()]
    show(rows, how)
    return DONE


def show_sequence(sequence: Annotated[str, Parameter(help="A name of the catalogue, or a TOML file.")], /) -> int:
    """Show a sequence as its file: a start for one of your own."""
    from workbench import sequences

    print(screen_of(sys.stdout).fit(sequences.dumps(_sequence(sequence))), end="")
    return DONE


def check(*files: Annotated[Path, Parameter(help="TOML files.")]) -> int:
    """Check sequence files: every problem at once, with step and line. Nothing is run."""
    from workbench import sequences

    if not files:
        raise wrong("sequences check takes files.")
    code = DONE
    for file in files:
        try:
            problems = sequences.problems(sequences.load(file))
        except OSError as error:
            problems, said = (), error.strerror
        except WorkbenchError as error:
            problems, said = (), str(error)
        else:
            said = ""
        if problems or said:
            code = WRONG_INPUT
            say(f"✗ {visible(str(file), 200)}")
            for line in [*map(str, problems), *(said or "").split("\n")]:
                say(f"    {visible(line, 500)}") if line else None
        else:
            say(f"✓ {visible(str(file), 200)}")
    return code
