"""A class on one server: a sandbox for each learner, a board for the trainer, and the results.

    workbench class serve --learners roster.csv --folder my-class

Learners join with their code: `wb.connect("http://127.0.0.1:8700", code="olive-42-heron")`, or `WORKBENCH_CLASS` in the environment.
"""

TYPE_CHECKING = False
if TYPE_CHECKING:
    from workbench.classroom.results import Learner as Learner
    from workbench.classroom.results import Results as Results
    from workbench.classroom.server import ClassServer as ClassServer

if not TYPE_CHECKING:  # a type checker sees the names above and no others
    from workbench.lazy import public_names

    __getattr__, __dir__ = public_names(__name__, __file__)
