"""A workbench for a card issuing service: a checked client, a sandbox, webhooks, tables, charts and a course.

    import workbench as wb

    api = wb.connect()  # a session on a sandbox of its own: no key, no network
    api.list_contracts()

Every name below is loaded when it is first used.
"""

TYPE_CHECKING = False  # as checkers know it; importing typing for it would cost more than all the rest
if TYPE_CHECKING:
    from typing import Any

    from workbench import chains as chains
    from workbench import charts as charts
    from workbench import course as course
    from workbench import errors as errors
    from workbench import runs as runs
    from workbench import sequences as sequences
    from workbench import tables as tables
    from workbench import withdrawals as withdrawals
    from workbench.client.advice import AdviceWarning as AdviceWarning
    from workbench.client.client import AsyncClient as AsyncClient
    from workbench.client.client import Client as Client
    from workbench.client.guards import Limits as Limits
    from workbench.client.journal import Journal as Journal
    from workbench.client.probe import verify_assumptions as verify_assumptions
    from workbench.client.reading import from_wire as from_wire
    from workbench.errors import ApiError as ApiError
    from workbench.errors import BadRequest as BadRequest
    from workbench.errors import CannotRecord as CannotRecord
    from workbench.errors import Conflict as Conflict
    from workbench.errors import DuplicateSuspected as DuplicateSuspected
    from workbench.errors import FileBusy as FileBusy
    from workbench.errors import Forbidden as Forbidden
    from workbench.errors import InvalidArguments as InvalidArguments
    from workbench.errors import InvalidProfile as InvalidProfile
    from workbench.errors import InvalidRequest as InvalidRequest
    from workbench.errors import InvalidWebhook as InvalidWebhook
    from workbench.errors import NoAnswer as NoAnswer
    from workbench.errors import NotArmed as NotArmed
    from workbench.errors import NotFound as NotFound
    from workbench.errors import NothingArrived as NothingArrived
    from workbench.errors import NotSent as NotSent
    from workbench.errors import OutcomeUnknown as OutcomeUnknown
    from workbench.errors import Problem as Problem
    from workbench.errors import RateLimited as RateLimited
    from workbench.errors import RedirectedEffect as RedirectedEffect
    from workbench.errors import ResponseTooLarge as ResponseTooLarge
    from workbench.errors import ServiceFailure as ServiceFailure
    from workbench.errors import Unauthorized as Unauthorized
    from workbench.errors import UnexpectedAnswer as UnexpectedAnswer
    from workbench.errors import UnexpectedRedirect as UnexpectedRedirect
    from workbench.errors import Unprocessable as Unprocessable
    from workbench.errors import UnusableFile as UnusableFile
    from workbench.errors import WorkbenchError as WorkbenchError
    from workbench.errors import WrongEnvironment as WrongEnvironment
    from workbench.forms.countdown import countdown as countdown
    from workbench.forms.live import form as form
    from workbench.forms.panel import browse as browse
    from workbench.forms.watching import read_rewards as read_rewards
    from workbench.forms.work import bulk as bulk
    from workbench.forms.work import play as play
    from workbench.interface.assumptions import assumptions as assumptions
    from workbench.interface.rules import FULL as FULL
    from workbench.runs.sending import apply as apply
    from workbench.runs.sending import resume as resume
    from workbench.sandbox import Sandbox as Sandbox
    from workbench.sequences.running import run as run
    from workbench.session import Session as Session
    from workbench.session import connect as connect
    from workbench.tables.bodies import load_bodies as load_bodies
    from workbench.tables.event_logs import read_events as read_events
    from workbench.tables.exports import save as save
    from workbench.tables.frames import frame as frame
    from workbench.terminal.shell import load_ipython_extension as load_ipython_extension
    from workbench.terminal.shell import unload_ipython_extension as unload_ipython_extension
    from workbench.webhooks.inbox import Inbox as Inbox
    from workbench.webhooks.samples import sample_event as sample_event
    from workbench.withdrawals.amounts import cents as cents
    from workbench.withdrawals.amounts import native as native

_WHERE = {
    "AdviceWarning": "workbench.client.advice",
    "AsyncClient": "workbench.client.client",
    "Client": "workbench.client.client",
    "FULL": "workbench.interface.rules",
    "Inbox": "workbench.webhooks.inbox",
    "Journal": "workbench.client.journal",
    "Limits": "workbench.client.guards",
    "Sandbox": "workbench.sandbox",
    "Session": "workbench.session",
    "apply": "workbench.runs.sending",
    "assumptions": "workbench.interface.assumptions",
    "cents": "workbench.withdrawals.amounts",
    "chains": "workbench.chains",
    "charts": "workbench.charts",
    "browse": "workbench.forms.panel",
    "bulk": "workbench.forms.work",
    "connect": "workbench.session",
    "countdown": "workbench.forms.countdown",
    "course": "workbench.course",
    "errors": "workbench.errors",
    "form": "workbench.forms.live",
    "frame": "workbench.tables.frames",
    "from_wire": "workbench.client.reading",
    "load_bodies": "workbench.tables.bodies",
    "load_ipython_extension": "workbench.terminal.shell",
    "native": "workbench.withdrawals.amounts",
    "play": "workbench.forms.work",
    "read_events": "workbench.tables.event_logs",
    "read_rewards": "workbench.forms.watching",
    "resume": "workbench.runs.sending",
    "run": "workbench.sequences.running",
    "runs": "workbench.runs",
    "sample_event": "workbench.webhooks.samples",
    "save": "workbench.tables.exports",
    "sequences": "workbench.sequences",
    "tables": "workbench.tables",
    "unload_ipython_extension": "workbench.terminal.shell",
    "verify_assumptions": "workbench.client.probe",
    "withdrawals": "workbench.withdrawals",
}

_ERRORS = (
    "ApiError",
    "BadRequest",
    "CannotRecord",
    "Conflict",
    "DuplicateSuspected",
    "FileBusy",
    "Forbidden",
    "InvalidArguments",
    "InvalidProfile",
    "InvalidRequest",
    "InvalidWebhook",
    "NoAnswer",
    "NotArmed",
    "NotFound",
    "NotSent",
    "NothingArrived",
    "OutcomeUnknown",
    "Problem",
    "RateLimited",
    "RedirectedEffect",
    "ResponseTooLarge",
    "ServiceFailure",
    "Unauthorized",
    "UnexpectedAnswer",
    "UnexpectedRedirect",
    "Unprocessable",
    "UnusableFile",
    "WorkbenchError",
    "WrongEnvironment",
)
_WHERE.update(dict.fromkeys(_ERRORS, "workbench.errors"))

__all__ = sorted(_WHERE)


if not TYPE_CHECKING:  # a checker sees the names above, and no others

    def __getattr__(name: str) -> "Any":
        from importlib import import_module

        where = _WHERE.get(name)
        if where is None:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        module = import_module(where)
        found = globals()[name] = module if where == f"workbench.{name}" else getattr(module, name)
        return found


def __dir__() -> list[str]:
    return sorted({*globals(), *_WHERE})
