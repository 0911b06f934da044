"""Bulk writes: many calls, in which no row is lost or sent twice, with a plan, outcomes and a way to resume.

result = wb.bulk.run(api.create_user_application, "people.csv", path="people.run")
result.ok, result.verdict, wb.to_frame(result)
"""

TYPE_CHECKING = False
if TYPE_CHECKING:
    from workbench.bulk.outcomes import BulkResult as BulkResult
    from workbench.bulk.outcomes import Finding as Finding
    from workbench.bulk.outcomes import Findings as Findings
    from workbench.bulk.outcomes import RowResult as RowResult
    from workbench.bulk.outcomes import RunChanged as RunChanged
    from workbench.bulk.outcomes import investigate as investigate
    from workbench.bulk.plan import InvalidRows as InvalidRows
    from workbench.bulk.plan import Plan as Plan
    from workbench.bulk.plan import RowProblem as RowProblem
    from workbench.bulk.sending import resume as resume
    from workbench.bulk.sending import run as run
    from workbench.bulk.thread_pool import Interrupted as Interrupted
    from workbench.forms.work import bulk_panel as panel
    from workbench.tables.bodies import load as load

    __all__ = ["panel"]  # which has another name where it is

if not TYPE_CHECKING:  # a type checker sees the names above and no others
    from workbench.lazy import public_names

    __getattr__, __dir__ = public_names(__name__, __file__)
