"""The commands of the twelve operations, made from their rows."""

import inspect
import sys
from collections.abc import Callable
from typing import Annotated, Any

from cyclopts import Group, Parameter

from workbench.errors import InvalidArguments, InvalidRequest
from workbench.interface import checks
from workbench.interface.operation import Operation
from workbench.interface.table import LIST_REWARDS_ACTIVITY
from workbench.interface.walk import UnknownMember, build
from workbench.rendering.curl import curl
from workbench.rendering.screen import screen_of
from workbench.terminal.arguments import from_file, merged, options, values
from workbench.terminal.ends import DONE, say
from workbench.terminal.output import Output, show
from workbench.terminal.where import Where, session

_CALL = Group("Call", sort_key=7)
_KEYWORD = inspect.Parameter.KEYWORD_ONLY
_NONE_WHERE, _NONE_OUTPUT = Where(), Output()


def operation_command(operation: Operation[..., Any]) -> Callable[..., int]:
    """Return the function of an operation's command, with an option for every argument."""
    parameters = [*options(operation), *_more(operation)]
    signature = inspect.Signature(parameters)

    def command(*args: Any, **kwargs: Any) -> int:
        given = dict(signature.bind(*args, **kwargs).arguments)
        where, how = given.pop("where", None) or _NONE_WHERE, given.pop("how", None) or _NONE_OUTPUT
        body = given.pop("from_", None)
        dry_run, again = given.pop("dry_run", False), given.pop("again", False)
        everything = given.pop("all_", False)
        return _run(operation, given, where, how, body=body, dry_run=dry_run, again=again, everything=everything)

    command.__signature__ = signature  # type: ignore[attr-defined]
    command.__annotations__ = {one.name: one.annotation for one in parameters}
    command.__name__ = operation.name
    command.__doc__ = _doc(operation)
    return command


def _doc(operation: Operation[..., Any]) -> str:
    lines = [operation.doc, ""]
    if operation.roles:
        lines.append(f"The key needs the role {', '.join(sorted(operation.roles))}.")
    if operation.sandbox_only:
        lines.append("In the sandbox only.")
    lines.append(f"Source: {operation.source}. More: workbench docs {operation.name}")
    return "\n".join(lines)


def _more(operation: Operation[..., Any]) -> list[inspect.Parameter]:
    def flag(name: str, option: str, doc: str) -> inspect.Parameter:
        annotation = Annotated[bool, Parameter(name=option, help=doc, negative="", show_default=False, group=_CALL)]
        return inspect.Parameter(name, _KEYWORD, default=False, annotation=annotation)

    body = Annotated[
        str | None,
        Parameter(
            name="--from",
            help="Read the body from a JSON file, - for stdin; options come on top.",
            group=_CALL,
            allow_leading_hyphen=True,
        ),
    ]
    made = [
        inspect.Parameter("from_", _KEYWORD, default=None, annotation=body),
        flag("dry_run", "--dry-run", "Show the request as curl, its key masked, and send nothing."),
        flag("again", "--again", "Send the same write again within a day."),
    ]
    if operation is LIST_REWARDS_ACTIVITY:
        made.append(flag("all_", "--all", "Read all pages."))
    return [
        *made,
        inspect.Parameter("where", _KEYWORD, default=None, annotation=Annotated[Where | None, Parameter(name="*")]),
        inspect.Parameter("how", _KEYWORD, default=None, annotation=Annotated[Output | None, Parameter(name="*")]),
    ]


def _run(
    operation: Operation[..., Any], texts: dict[str, Any], where: Where, how: Output, *, body: str | None,
    dry_run: bool, again: bool, everything: bool,
) -> int:  # fmt: skip
    with session(where) as api:
        given = values(operation, texts)
        if body is not None:
            given = merged(from_file(operation, body, api.converter), given)
        try:
            request = build(operation.request, given)
        except UnknownMember as unknown:
            raise InvalidArguments(str(unknown), of=operation.name) from None
        problems = checks.problems(request)
        if problems:
            raise InvalidRequest(problems, of=operation.name)
        if dry_run:
            shown = curl(operation, request, base_url=api.base_url, converter=api.converter, reveal=how.reveal)
            print(screen_of(sys.stdout).fit(shown))
            return DONE
        if api.environment == "production":
            from workbench.terminal.arming import confirm

            confirm(api, operation, request)
        if everything:
            from workbench.terminal.reads import told

            return told(api, [request.user_id], request.type, how)
        answer: Any = (api.allowing(again=True) if again else api).send(request)
        for notice in api.notices:
            say(notice)
        if operation.many:
            show(list(answer), how)
        elif operation is LIST_REWARDS_ACTIVITY:
            show(list(answer.items), how)
        elif operation.success == 204:
            say("Deleted.")
        else:
            show(answer, how)
    return DONE
