"""Course of notebooks, exercises, quizzes and drills. A task is checked against the sandbox's requests and records.

wb.course.begin("02")              # a sandbox for this notebook, before wb.connect()
wb.course.task("purchases-1")      # what to do; a notebook shows fields and buttons
wb.course.check("purchases-1")     # done, or what is missing
wb.course.hint("purchases-1")      # up to three; the last one contains the code
wb.course.answer("start-who", "b") # feedback on the answer to a quiz
wb.course.progress()
"""

from workbench.base.lazy import TYPE_CHECKING, public_names

if TYPE_CHECKING:
    from workbench.course.joining import join as join
    from workbench.course.learner import add as add
    from workbench.course.learner import answer as answer
    from workbench.course.learner import begin as begin
    from workbench.course.learner import check as check
    from workbench.course.learner import hint as hint
    from workbench.course.learner import notes as notes
    from workbench.course.learner import progress as progress
    from workbench.course.learner import reset as reset
    from workbench.course.learner import task as task

_LEARNER = ("add", "answer", "begin", "check", "hint", "notes", "progress", "reset", "task")
_NAMES = {
    **dict.fromkeys(_LEARNER, "workbench.course.learner"),
    "join": "workbench.course.joining",
}

if not TYPE_CHECKING:  # a type checker that sees `__getattr__` accepts every name
    __getattr__, __dir__ = public_names(__name__, _NAMES)
