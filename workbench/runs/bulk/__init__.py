"""Bulk writes with a plan, an outcome for each row, and resumable runs. No row is lost or sent twice.

result = wb.bulk.run(api.create_user_application, "people.csv", path="people.run")
result.ok, result.verdict, wb.to_frame(result)
"""

from typing import TYPE_CHECKING

from workbench.base.lazy import public_names

if TYPE_CHECKING:
    from workbench.base.system.thread_pool import Interrupted as Interrupted
    from workbench.runs.bulk.outcomes import RunChanged as RunChanged
    from workbench.runs.bulk.outcomes import investigate as investigate
    from workbench.runs.bulk.plan import InvalidRows as InvalidRows
    from workbench.runs.bulk.sending import resume as resume
    from workbench.runs.bulk.sending import run as run

_NAMES = {
    "Interrupted": "workbench.base.system.thread_pool",
    "InvalidRows": "workbench.runs.bulk.plan",
    "RunChanged": "workbench.runs.bulk.outcomes",
    "investigate": "workbench.runs.bulk.outcomes",
    "resume": "workbench.runs.bulk.sending",
    "run": "workbench.runs.bulk.sending",
}

if not TYPE_CHECKING:  # a type checker that sees `__getattr__` accepts every name
    __getattr__, __dir__ = public_names(__name__, _NAMES)
