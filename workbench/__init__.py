"""Workbench for a card issuing API: typed client, sandbox, webhooks, DataFrames, charts and a course.

    import workbench as wb

    api = wb.connect()  # a session on an embedded sandbox: no key, no network
    api.list_contracts()

`docs/reference.md` lists all public names. Each name is imported on first use.
"""

from workbench.base.extras import install_finder as _install_finder
from workbench.base.lazy import TYPE_CHECKING
from workbench.base.lazy import public_names as _public_names
from workbench.base.system import process as _process

__version__ = "0.3.0"

if TYPE_CHECKING:
    from workbench import course as course
    from workbench import events as events
    from workbench import records as records
    from workbench import testing as testing
    from workbench.analysis import charts as charts
    from workbench.analysis import rewards as rewards
    from workbench.analysis.reports.history import history as history
    from workbench.analysis.reports.queries import sql as sql
    from workbench.analysis.tables.frames import to_frame as to_frame
    from workbench.analysis.tables.read_table import read_table as read_table
    from workbench.base import errors as errors
    from workbench.base.errors import ApiError as ApiError
    from workbench.base.errors import InvalidRequest as InvalidRequest
    from workbench.base.errors import NotFound as NotFound
    from workbench.base.errors import NotSent as NotSent
    from workbench.base.errors import OutcomeUnknown as OutcomeUnknown
    from workbench.base.errors import WorkbenchError as WorkbenchError
    from workbench.base.schema.rules import FULL as FULL
    from workbench.client import withdrawals as withdrawals
    from workbench.client.calls.client import AsyncClient as AsyncClient
    from workbench.client.calls.client import Client as Client
    from workbench.client.calls.guards import Limits as Limits
    from workbench.client.calls.journal import Journal as Journal
    from workbench.client.session import AsyncSession as AsyncSession
    from workbench.client.session import Session as Session
    from workbench.client.session import connect as connect
    from workbench.client.session import connect_async as connect_async
    from workbench.client.webhooks.inbox import Inbox as Inbox
    from workbench.runs import bulk as bulk
    from workbench.runs import sequences as sequences
    from workbench.sandbox import Sandbox as Sandbox
    from workbench.screens.panel.file import to_file as to_file
    from workbench.screens.panel.panel import browse as browse
    from workbench.screens.panel.panel import form as form
    from workbench.service.interface.assumptions import assumptions as assumptions
    from workbench.testing.learning import learn as learn

_NAMES = {
    "ApiError": "workbench.base.errors",
    "AsyncClient": "workbench.client.calls.client",
    "AsyncSession": "workbench.client.session",
    "Client": "workbench.client.calls.client",
    "FULL": "workbench.base.schema.rules",
    "Inbox": "workbench.client.webhooks.inbox",
    "InvalidRequest": "workbench.base.errors",
    "Journal": "workbench.client.calls.journal",
    "Limits": "workbench.client.calls.guards",
    "NotFound": "workbench.base.errors",
    "NotSent": "workbench.base.errors",
    "OutcomeUnknown": "workbench.base.errors",
    "Sandbox": "workbench.sandbox",
    "Session": "workbench.client.session",
    "WorkbenchError": "workbench.base.errors",
    "assumptions": "workbench.service.interface.assumptions",
    "browse": "workbench.screens.panel.panel",
    "bulk": "workbench.runs.bulk:",
    "charts": "workbench.analysis.charts:",
    "connect": "workbench.client.session",
    "connect_async": "workbench.client.session",
    "course": "workbench.course:",
    "errors": "workbench.base.errors:",
    "events": "workbench.events:",
    "to_file": "workbench.screens.panel.file",
    "form": "workbench.screens.panel.panel",
    "history": "workbench.analysis.reports.history",
    "learn": "workbench.testing.learning",
    "read_table": "workbench.analysis.tables.read_table",
    "records": "workbench.records:",
    "rewards": "workbench.analysis.rewards:",
    "sequences": "workbench.runs.sequences:",
    "sql": "workbench.analysis.reports.queries",
    "testing": "workbench.testing:",
    "to_frame": "workbench.analysis.tables.frames",
    "withdrawals": "workbench.client.withdrawals:",
}


def _refusal(*, effect: bool, production: bool) -> str:
    from workbench.course import membership  # the import is needed only for a call to a real service

    return membership.refusal(effect=effect, production=production)


def _own_address(production: bool) -> _process.ServedAddress | None:
    from workbench.course import membership

    return membership.own_address(production)


_install_finder()
_process.GUARDS.append(_refusal)
_process.RESOLVERS.append(_own_address)
if not TYPE_CHECKING:  # a type checker that sees `__getattr__` accepts every name
    __getattr__, __dir__ = _public_names(__name__, _NAMES)
