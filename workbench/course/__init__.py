"""Course exercises, checked by the requests and records of the service, not by variables.

wb.course.check("contracts-2")     # done, or what is missing
wb.course.hint("contracts-2")      # up to three; the last one contains the code
wb.course.quiz("start-who", "b")   # feedback to an answer
wb.course.progress()
"""

from typing import TYPE_CHECKING

from workbench.base.lazy import public_names

if TYPE_CHECKING:
    from workbench.course.drill_run import drill as drill
    from workbench.course.joining import join as join
    from workbench.course.learner import begin as begin
    from workbench.course.learner import check as check
    from workbench.course.learner import hint as hint
    from workbench.course.learner import in_class as in_class
    from workbench.course.learner import notes as notes
    from workbench.course.learner import progress as progress
    from workbench.course.learner import quiz as quiz
    from workbench.course.learner import reset as reset
    from workbench.course.learner import task as task

_NAMES = {
    "begin": "workbench.course.learner",
    "check": "workbench.course.learner",
    "drill": "workbench.course.drill_run",
    "hint": "workbench.course.learner",
    "in_class": "workbench.course.learner",
    "join": "workbench.course.joining",
    "notes": "workbench.course.learner",
    "progress": "workbench.course.learner",
    "quiz": "workbench.course.learner",
    "reset": "workbench.course.learner",
    "task": "workbench.course.learner",
}

if not TYPE_CHECKING:  # a type checker would take any name from `__getattr__`
    __getattr__, __dir__ = public_names(__name__, _NAMES)
