"""Write exercises.md, the attempts at the exercises that the checks are tested with: `python -m tests.course.tries`."""

from pathlib import Path

from tests.course.right_tries import RIGHT
from tests.course.wrong_tries import WRONG
from workbench.course.learner import EXERCISES

PAGE = Path(__file__).with_name("exercises.md")
_HEAD = """# Exercises, as their checks are tested

Each check of the course is tried with right answers by different ways, and with wrong ones that are plausible. The last hint of an
exercise is right, too, and an exercise is not done before it is begun. Everything is tried on an embedded sandbox; the last hints on a
served one and in a class as well, and all of it there in `make soak`. A test holds each verdict: `tests/course/test_exercises.py`.

The ways: a *method* of the session, a *form*, a *sequence*, a *bulk* run, and the *terminal*.

| Exercise | Right, by | Wrong: what was tried | What the check says, in part |
|---|---|---|---|
"""


def page() -> str:
    """Return the page as it should be now."""
    rows = []
    for name in EXERCISES:
        ways = ["last hint", *(way for one, way, _ in RIGHT if one == name)]
        right = ", ".join(f"{way} ({ways.count(way)})" if ways.count(way) > 1 else way for way in dict.fromkeys(ways))
        wrong = [(what, said) for one, what, _, said in WRONG if one == name]
        for number, (what, said) in enumerate(wrong):
            first = f"`{name}` | {right}" if number == 0 else " | "
            rows.append(f"| {first} | {what} | {said.strip()} |")
    count = f"{len(EXERCISES)} exercises, {len(EXERCISES) + len(RIGHT)} right attempts, {len(WRONG)} wrong ones."
    return _HEAD + "\n".join(rows) + f"\n\n{count}\n"


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
