"""Answers met elsewhere, and how sure all this is."""

from typing import Any

from workbench.demo.cast import Cast
from workbench.demo.reading import Reading, read_all
from workbench.demo.stage import Stage
from workbench.errors import visible
from workbench.interface.assumptions import assumptions
from workbench.interface.fields import Confidence


def answers(stage: Stage, cast: Cast) -> None:
    """Read the answers on disk without loss."""
    readings = read_all(cast.bodies.answers())
    stage.chapter("Answers met elsewhere, read without loss")
    where = visible(str(cast.bodies.folder), 200) if any(not one.body.own for one in readings) else "this package"
    stage.say(
        f"{len(readings)} answers and error bodies from {where} go through the client, as if a service had sent them. "
        "Each is read, written again, and compared with what came; had anything been lost, the tour would end here."
    )
    stage.gap()
    stage.grid(("file", "read as", "what is odd about it"), [_reading_row(one) for one in readings])


def _reading_row(reading: Reading) -> tuple[Any, ...]:
    more = f" (and {len(reading.odd) - 1} more)" if len(reading.odd) > 1 else ""
    return reading.body.name, reading.read_as, f"{reading.odd[0]}{more}" if reading.odd else "–"


def guesses(stage: Stage, cast: Cast) -> None:
    """Say how many guesses all this rests on."""
    guesses = assumptions()
    stage.chapter("How sure all this is")
    stage.say(
        f"The interface document leaves things out. Where it does, the workbench guesses, says so, and can be told "
        f"otherwise in one place. These answers rest on {len(guesses)} guesses:"
    )
    stage.gap()
    stage.grid(
        ("how well known", "guesses"),
        [(f"status:{known}", sum(guess.confidence == known for guess in guesses)) for known in Confidence],
    )
    stage.note("wb.assumptions() lists them all, with the reason of each and the line that changes it.")
    stage.gap()
    stage.say("That was the main job. Next: workbench --help, or make lab for the notebooks.")
    stage.gap()
