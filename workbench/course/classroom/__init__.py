"""A class on one server: a sandbox for each learner, a board for the trainer, and the learners' results.

    workbench course serve --learners roster.csv --folder my-class

Learners join by a link: `workbench course join http://127.0.0.1:8700/olive-4f7m-qjxa`, or `wb.course.join(LINK)`.
"""

from typing import TYPE_CHECKING

from workbench.base.lazy import public_names

if TYPE_CHECKING:
    from workbench.course.classroom.class_results import Learner as Learner
    from workbench.course.classroom.class_results import Results as Results
    from workbench.course.classroom.server import ClassServer as ClassServer

_NAMES = {
    "ClassServer": "workbench.course.classroom.server",
    "Learner": "workbench.course.classroom.class_results",
    "Results": "workbench.course.classroom.class_results",
}

if not TYPE_CHECKING:  # a type checker that sees `__getattr__` accepts every name
    __getattr__, __dir__ = public_names(__name__, _NAMES)
