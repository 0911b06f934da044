"""Bulk writes with a plan, an outcome for each row, and resumable runs. No row is lost or sent twice.

result = wb.bulk.run(api.create_user_application, "people.csv", path="people.run")
result.ok, result.verdict, wb.to_frame(result)
"""

from typing import TYPE_CHECKING

from workbench.lazy import public_names

if TYPE_CHECKING:
    from workbench.bulk.outcomes import RunChanged as RunChanged
    from workbench.bulk.outcomes import investigate as investigate
    from workbench.bulk.plan import InvalidRows as InvalidRows
    from workbench.bulk.rows import read_rows as read_rows
    from workbench.bulk.sending import resume as resume
    from workbench.bulk.sending import run as run
    from workbench.system.thread_pool import Interrupted as Interrupted

_NAMES = {
    "Interrupted": "workbench.system.thread_pool",
    "InvalidRows": "workbench.bulk.plan",
    "RunChanged": "workbench.bulk.outcomes",
    "investigate": "workbench.bulk.outcomes",
    "read_rows": "workbench.bulk.rows",
    "resume": "workbench.bulk.sending",
    "run": "workbench.bulk.sending",
}

if not TYPE_CHECKING:  # a type checker would take any name from `__getattr__`
    __getattr__, __dir__ = public_names(__name__, _NAMES)
