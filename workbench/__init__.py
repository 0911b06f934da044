"""A workbench for a card issuing service: a checked client, a sandbox, webhooks, tables, charts and a course.

    import workbench as wb

    api = wb.connect()  # a session on an embedded sandbox: no key, no network
    api.list_contracts()

`docs/api.md` lists every public name. Each is loaded when it is first used.
"""

TYPE_CHECKING = False
if TYPE_CHECKING:
    from workbench import bulk as bulk
    from workbench import chains as chains
    from workbench import charts as charts
    from workbench import course as course
    from workbench import errors as errors
    from workbench import events as events
    from workbench import records as records
    from workbench import rewards as rewards
    from workbench import sequences as sequences
    from workbench import tables as tables
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
    from workbench.forms.dashboard import dashboard as dashboard
    from workbench.forms.panel import browse as browse
    from workbench.forms.panel import form as form
    from workbench.interface.assumptions import assumptions as assumptions
    from workbench.interface.rules import FULL as FULL
    from workbench.sandbox import Sandbox as Sandbox
    from workbench.sequences.comparing import compare_behavior as compare_behavior
    from workbench.sequences.comparing import compare_records as compare_records
    from workbench.session import AsyncSession as AsyncSession
    from workbench.session import Session as Session
    from workbench.session import connect as connect
    from workbench.session import connect_async as connect_async
    from workbench.tables.analysis import sql as sql
    from workbench.tables.frames import export as export
    from workbench.tables.frames import to_frame as to_frame
    from workbench.terminal.shell import load_ipython_extension as load_ipython_extension
    from workbench.terminal.shell import unload_ipython_extension as unload_ipython_extension
    from workbench.webhooks.inbox import Inbox as Inbox

if not TYPE_CHECKING:  # a type checker sees the names above and no others
    from workbench.extras import install_finder
    from workbench.lazy import public_names

    install_finder()
    __getattr__, __dir__ = public_names(__name__, __file__)
