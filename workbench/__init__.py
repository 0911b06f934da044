"""Workbench for a card issuing API: typed client, sandbox, webhooks, DataFrames, charts and a course.

    import workbench as wb

    api = wb.connect()  # a session on an embedded sandbox: no key, no network
    api.list_contracts()

`docs/reference.md` lists all public names. Each is imported on first use.
"""

from typing import TYPE_CHECKING

from workbench.course import membership
from workbench.extras import install_finder
from workbench.lazy import public_names

__version__ = "0.3.0"

if TYPE_CHECKING:
    from workbench import bulk as bulk
    from workbench import charts as charts
    from workbench import course as course
    from workbench import errors as errors
    from workbench import events as events
    from workbench import panel as panel
    from workbench import records as records
    from workbench import reports as reports
    from workbench import rewards as rewards
    from workbench import sequences as sequences
    from workbench import tables as tables
    from workbench import testing as testing
    from workbench import withdrawals as withdrawals
    from workbench.client.client import AsyncClient as AsyncClient
    from workbench.client.client import Client as Client
    from workbench.client.guards import Limits as Limits
    from workbench.client.journal import Journal as Journal
    from workbench.errors import ApiError as ApiError
    from workbench.errors import InvalidRequest as InvalidRequest
    from workbench.errors import NotFound as NotFound
    from workbench.errors import NotSent as NotSent
    from workbench.errors import OutcomeUnknown as OutcomeUnknown
    from workbench.errors import WorkbenchError as WorkbenchError
    from workbench.interface.assumptions import assumptions as assumptions
    from workbench.panel.dashboard import dashboard as dashboard
    from workbench.panel.page import to_file as to_file
    from workbench.panel.panel import browse as browse
    from workbench.panel.panel import form as form
    from workbench.reports.queries import sql as sql
    from workbench.reports.worlds import world_from as world_from
    from workbench.sandbox import Sandbox as Sandbox
    from workbench.schema.rules import FULL as FULL
    from workbench.session import AsyncSession as AsyncSession
    from workbench.session import Session as Session
    from workbench.session import connect as connect
    from workbench.session import connect_async as connect_async
    from workbench.tables.frames import to_frame as to_frame
    from workbench.terminal.shell import load_ipython_extension as load_ipython_extension
    from workbench.terminal.shell import unload_ipython_extension as unload_ipython_extension
    from workbench.testing.comparing import compare_behavior as compare_behavior
    from workbench.testing.comparing import compare_records as compare_records
    from workbench.testing.learning import learn as learn
    from workbench.webhooks.inbox import Inbox as Inbox

_NAMES = {
    "ApiError": "workbench.errors",
    "AsyncClient": "workbench.client.client",
    "AsyncSession": "workbench.session",
    "Client": "workbench.client.client",
    "FULL": "workbench.schema.rules",
    "Inbox": "workbench.webhooks.inbox",
    "InvalidRequest": "workbench.errors",
    "Journal": "workbench.client.journal",
    "Limits": "workbench.client.guards",
    "NotFound": "workbench.errors",
    "NotSent": "workbench.errors",
    "OutcomeUnknown": "workbench.errors",
    "Sandbox": "workbench.sandbox",
    "Session": "workbench.session",
    "WorkbenchError": "workbench.errors",
    "assumptions": "workbench.interface.assumptions",
    "browse": "workbench.panel.panel",
    "bulk": "workbench.bulk",
    "charts": "workbench.charts",
    "compare_behavior": "workbench.testing.comparing",
    "compare_records": "workbench.testing.comparing",
    "connect": "workbench.session",
    "connect_async": "workbench.session",
    "course": "workbench.course",
    "dashboard": "workbench.panel.dashboard",
    "errors": "workbench.errors",
    "events": "workbench.events",
    "to_file": "workbench.panel.page",
    "form": "workbench.panel.panel",
    "learn": "workbench.testing.learning",
    "load_ipython_extension": "workbench.terminal.shell",
    "panel": "workbench.panel",
    "records": "workbench.records",
    "reports": "workbench.reports",
    "rewards": "workbench.rewards",
    "sequences": "workbench.sequences",
    "sql": "workbench.reports.queries",
    "tables": "workbench.tables",
    "testing": "workbench.testing",
    "to_frame": "workbench.tables.frames",
    "unload_ipython_extension": "workbench.terminal.shell",
    "withdrawals": "workbench.withdrawals",
    "world_from": "workbench.reports.worlds",
}

install_finder()
membership.register()
if not TYPE_CHECKING:  # a type checker would take any name from `__getattr__`
    __getattr__, __dir__ = public_names(__name__, _NAMES)
