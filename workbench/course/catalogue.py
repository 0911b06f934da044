"""All exercises by their id, in the order of the notebooks."""

from collections.abc import Mapping

from workbench.course import money, people, watching
from workbench.course.exercise import Exercise

EXERCISES: Mapping[str, Exercise] = {
    one.id: one
    for one in sorted(
        (*money.EXERCISES, *people.EXERCISES, *watching.EXERCISES),
        key=lambda exercise: (exercise.notebook, exercise.id),
    )
}
