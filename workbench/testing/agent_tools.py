"""Model Context Protocol server for coding agents, with three tools.

Operations and controls are called by name, with JSON arguments in wire names. Their schemas come from the OpenAPI
document. Answers are masked JSON. An agent cannot register a webhook endpoint; `sandbox agent --forward-to` registers
an endpoint for the agent. In production, a call with an effect needs an armed session and a confirmation by the person
at the client.
"""

import asyncio
import hashlib
import inspect
import json
import re
from collections.abc import Mapping
from typing import Any

import mcp.types as types
from mcp.server.lowlevel import Server
from mcp.server.stdio import stdio_server
from mcp.shared.exceptions import MCPError, NoBackChannelError

from workbench.base.errors import (
    InvalidRequest,
    OutcomeUnknown,
    Problem,
    UsageError,
    WorkbenchError,
    unknown_name,
    visible,
)
from workbench.base.remedies import worded_for
from workbench.base.schema import strict_json
from workbench.base.schema.walk import camel, snake
from workbench.client.calls.base import context_of, journal_of
from workbench.client.calls.building import from_wire
from workbench.client.calls.guards import confirmation_text
from workbench.client.calls.request_checks import findings
from workbench.client.session import sandbox_of
from workbench.sandbox.control_records import private_members
from workbench.sandbox.controls import CONTROLS, perform
from workbench.sandbox.controls_document import argument_schema
from workbench.service.interface.assumptions import assumptions
from workbench.service.interface.events import EVENT_KINDS
from workbench.service.interface.naming import operation_named
from workbench.service.interface.openapi import document
from workbench.service.interface.table import OPERATIONS, Operation
from workbench.service.rendering.data import json_values

Schema = dict[str, Any]
_ASSUMPTION = ("value", "reason", "confidence", "change")
# controls that take or return keys or signatures, return private values in lists without names, change endpoints, or
# belong to the panel
_WITHHELD_CONTROLS = frozenset(
    {
        "wallet_sign", "execute", "create_key", "register_endpoint", "update_endpoint", "remove_endpoint", "changed",
        "changes", "savepoint", "undo",
    }
)  # fmt: skip
_CONTROLS = {name: row for name, row in CONTROLS.items() if name not in _WITHHELD_CONTROLS}
# arguments of controls that an agent may not pass
_WITHHELD = frozenset({"self", "signing_key", "reveal", "all_tenants"})
_MAX_ANSWER = 1_000_000
_MAX_MESSAGE = 2_000
_MAX_QUESTION = 2_000
_CONFIRM: Schema = {
    "type": "object",
    "properties": {"confirm": {"type": "boolean", "title": "Send it"}},
    "required": ["confirm"],
}
_INSTRUCTIONS = (
    "A card issuing service. Amounts are whole cents. `describe` lists operations, controls and events; with a "
    "name, it returns the schema. Controls act on an embedded sandbox and do not exist in the service. "
    "Describe `assumptions` for the assumptions. Never repeat a call whose outcome is unknown."
)


def make_server(api: object) -> Server[Any]:
    """Return an MCP server that offers the operations and controls of a session as tools.

    Args:
        api: A session on a sandbox or a service; in production, calls with an effect require it to be armed.
    """
    tools = _Tools(api)
    return Server(
        "card-issuing-workbench",
        instructions=_INSTRUCTIONS,
        on_list_tools=tools.list,
        on_call_tool=tools.call,
    )


async def serve(api: object) -> None:
    """Serve a session over standard input and output until both are closed."""
    server = make_server(api)
    async with stdio_server() as (read, write):
        await server.run(read, write, server.create_initialization_options())


class _Tools:
    """The tools of one session."""

    def __init__(self, api: Any) -> None:
        self._api = api
        self._sandbox = sandbox_of(api)
        self._document = document(api.converter.names)
        self._controls = {} if self._sandbox is None else _CONTROLS
        self._tools = [_DESCRIBE, _CALL] if self._sandbox is None else [_DESCRIBE, _CALL, _CONTROL]
        production = api.environment == "production"
        self._operations = {name: row for name, row in OPERATIONS.items() if not (row.sandbox_only and production)}
        self._pending: set[str] = set()  # digests of the calls that a person must still confirm

    async def list(self, _: object, __: object) -> types.ListToolsResult:
        """Return the tools: `describe` and `call`, and with a sandbox `control`."""
        return types.ListToolsResult(tools=self._tools)

    async def call(
        self, context: object, params: types.CallToolRequestParams
    ) -> types.CallToolResult | types.InputRequiredResult:
        """Run a tool. A refused call returns an error result."""
        with worded_for("agent"):
            try:
                return await self._run(context, params)
            except WorkbenchError as error:
                refusal = self._refusal(error, params)
                journal = journal_of(self._api)
                if isinstance(error, OutcomeUnknown) and journal is not None and journal[error.attempt.id].is_unknown:
                    evidence = await asyncio.to_thread(journal.evidence, error.attempt.id)
                    refusal["evidence"] = {"verdict": str(evidence.verdict), "reason": evidence.reason}
                return _result(refusal, is_error=True)

    async def _run(
        self, context: object, params: types.CallToolRequestParams
    ) -> types.CallToolResult | types.InputRequiredResult:
        tools = [tool.name for tool in self._tools]
        if params.name not in tools:
            raise _unknown("tool", params.name, tools)
        name, arguments = _tool_arguments(params)
        if params.name == "describe":
            return _result(self._describe(name))
        if params.name == "control":
            return _result(await asyncio.to_thread(self._control, name, arguments))
        operation = self._operation(name)
        if operation is None:
            raise _unknown("operation", name, self._operations)
        request = from_wire(operation, arguments, self._api.converter, {}, exact=True)
        question = await self._confirm(context, operation, request, params)
        return question or _result(json_values(await asyncio.to_thread(self._api.send, request)))

    def _refusal(self, error: WorkbenchError, params: types.CallToolRequestParams) -> Schema:
        """Return the refusal of a call, with the argument names that the agent uses."""
        problems: tuple[Problem, ...] = getattr(error, "problems", ())
        message = "; ".join(map(str, problems)) if problems else str(error)
        control = self._controls.get(str((params.arguments or {}).get("name")))
        if control is not None and params.name == "control":
            message = _SNAKE.sub(lambda name: camel(name[0]) if name[0] in control.hints else name[0], message)
        return {"error": type(error).__name__, "message": visible(message.replace("\n", " "), _MAX_MESSAGE)}

    def _describe(self, name: str | None) -> Schema:
        if operation := self._operation(name):
            return _operation_schema(operation, self._document)
        if name in self._controls:
            return _control_schema(self._controls[name])
        if name in EVENT_KINDS:
            return _defined(self._document["webhooks"][name], self._document)
        if name == "assumptions":
            return {row.id: {member: str(getattr(row, member)) for member in _ASSUMPTION} for row in assumptions()}
        if name is not None:
            raise _unknown("operation, control or event", name, [*self._operations, *self._controls, *EVENT_KINDS])
        return {
            "operations": {name: row.doc for name, row in self._operations.items()},
            "controls": {name: row.summary for name, row in self._controls.items()},
            "events": {name: kind.doc for name, kind in EVENT_KINDS.items()},
        }

    def _operation(self, name: str | None) -> Operation[..., Any] | None:
        """Return the operation that an agent names, in any spelling, if this environment has the operation."""
        operation = None if name in self._controls else operation_named(name or "")
        return operation if operation is not None and operation.name in self._operations else None

    def _control(self, name: str | None, arguments: Mapping[str, Any]) -> Any:
        control = self._controls.get(name or "")
        if control is None or self._sandbox is None:
            raise _unknown("control", name, self._controls)
        given = {snake(name): value for name, value in arguments.items()}
        if withheld := _WITHHELD.intersection(given):
            known = _control_schema(control)["arguments"]["properties"]
            raise UsageError([unknown_name(camel(name), known) for name in withheld], of=control.name)
        answer = json_values(perform(self._sandbox, control.name, given))
        if control.name == "guide":  # the guide contains API keys, which are left out
            del answer["api_keys"]
        return _masked(answer)

    async def _confirm(
        self, context: Any, operation: Operation[..., Any], request: object, params: types.CallToolRequestParams
    ) -> types.InputRequiredResult | None:
        """Let the person at the client confirm an effect in production. Return the question if the client must ask it.

        Raises:
            WorkbenchError: The call would be refused anyway, is too large to show or was not confirmed, or the client
                cannot ask a person.
        """
        if not operation.effect or self._api.environment != "production" or self._sandbox is not None:
            return None
        # checked first, so that nobody confirms a call that is refused anyway
        context_of(self._api).check_operation(operation)
        problems, _ = findings(operation, request, (), real=True, limits=self._api.limits)
        if problems:
            raise InvalidRequest(problems, of=operation.name)
        question = confirmation_text(operation, request, self._api.host)
        if len(question) > _MAX_QUESTION:
            raise WorkbenchError(
                f"{operation.name} is too long to be shown for a confirmation ({len(question):,} characters, at most "
                f"{_MAX_QUESTION:,}); make this call at a prompt. Nothing was sent."
            )
        digest = hashlib.sha256(question.encode()).hexdigest()
        if params.input_responses is None:
            try:
                answer: Any = await context.session.elicit_form(question, _CONFIRM)
            except NoBackChannelError:  # the client asks the person, and then calls again
                self._pending.add(digest)
                form = types.ElicitRequestFormParams(message=question, requested_schema=_CONFIRM)
                asked: dict[str, Any] = {"confirm": types.ElicitRequest(params=form)}
                return types.InputRequiredResult(input_requests=asked, request_state=digest)
            except MCPError:
                raise WorkbenchError("this client cannot ask for confirmation; nothing was sent") from None
        elif params.request_state == digest and digest in self._pending:  # one confirmation allows one call
            self._pending.remove(digest)
            answer = params.input_responses.get("confirm")
        else:
            raise WorkbenchError("the confirmation belongs to another call; nothing was sent")
        accepted = isinstance(answer, types.ElicitResult) and answer.action == "accept"
        if not accepted or (answer.content or {}).get("confirm") is not True:
            raise WorkbenchError("the call was not confirmed; nothing was sent")
        return None


def _tool_arguments(params: types.CallToolRequestParams) -> tuple[str | None, Mapping[str, Any]]:
    """Return the name and arguments of a tool call.

    Raises:
        WorkbenchError: The arguments are malformed.
    """
    given = dict(params.arguments or {})
    name, arguments = given.pop("name", None), given.pop("arguments", None)
    if given or not isinstance(name, str | None) or not isinstance(arguments, Mapping | None):
        raise WorkbenchError(f"{params.name} takes only a name and an object of arguments")
    if name is None and params.name != "describe":
        raise WorkbenchError(f"{params.name} needs a name; `describe` lists the names")
    return name, arguments or {}


def _unknown(what: str, name: object, known: Any) -> WorkbenchError:
    return WorkbenchError(f"no {what} {visible(str(name), 60)!r} (known: {', '.join(known)}). Nothing was sent.")


_SNAKE = re.compile(r"\b[a-z0-9]+(?:_[a-z0-9]+)+\b")


def _masked(x: object, name: str = "") -> Any:
    """Return a control's result as JSON with wire names. Members that are private in any record are masked."""
    if isinstance(x, Mapping):
        return {camel(key) if _SNAKE.fullmatch(key) else key: _masked(value, snake(key)) for key, value in x.items()}
    if isinstance(x, list):
        return [_masked(item, name) for item in x]
    about = private_members().get(name)
    return x if about is None else about.mask(x)


def _result(answer: object, *, is_error: bool = False) -> types.CallToolResult:
    text = strict_json.printable(answer)
    if len(text) > _MAX_ANSWER:
        raise WorkbenchError(f"the answer has {len(text):,} characters, more than {_MAX_ANSWER:,}; request less")
    return types.CallToolResult(content=[types.TextContent(type="text", text=text)], is_error=is_error)


def _tool(name: str, doc: str, **hints: Any) -> types.Tool:
    schema = {
        "type": "object",
        "properties": {"name": {"type": "string"}, "arguments": {"type": "object"}},
        "required": [] if name == "describe" else ["name"],
        "additionalProperties": False,
    }
    return types.Tool(name=name, description=doc, input_schema=schema, annotations=types.ToolAnnotations(**hints))


_DESCRIBE = _tool(
    "describe",
    "List operations, controls and events; with a name, return its description and its schema.",
    read_only_hint=True,
    open_world_hint=False,
)
_CALL = _tool(
    "call",
    "Call an operation of the service by its name.",
    read_only_hint=False,
    destructive_hint=True,
    open_world_hint=True,
)
_CONTROL = _tool(
    "control",
    "Call a control of the sandbox by its name: actions of the service, faults, the clock, and reads of the state.",
    read_only_hint=False,
    destructive_hint=True,
    open_world_hint=False,
)


def _operation_schema(operation: Operation[..., Any], of: Schema) -> Schema:
    """Return the description of an operation and the schema of its arguments, from an OpenAPI document."""
    described = of["paths"][operation.path][operation.method.lower()]
    parameters = described.get("parameters", ())
    body = of["components"]["schemas"][operation.request.__name__] if "requestBody" in described else {}
    own, *rules = body.get("allOf", [body])
    properties = {row["name"]: {**row["schema"], "description": row["description"]} for row in parameters}
    required = [row["name"] for row in parameters if row["required"]]
    schema = {
        "type": "object",
        "properties": properties | own.get("properties", {}),
        "required": required + own.get("required", []),
        "additionalProperties": False,
        **({"allOf": rules} if rules else {}),
    }
    return {
        "name": operation.name,
        "description": f"{operation.doc} {described['description']}",
        "effect": operation.effect is not None,
        "arguments": _defined(schema, of),
    }


def _control_schema(control: Any) -> Schema:
    """Return the description of a control and the schema of its arguments."""
    parameters = [row for row in control.signature.parameters.values() if row.name not in _WITHHELD]
    schema = {
        "type": "object",
        "properties": {camel(row.name): argument_schema(control, row.name) for row in parameters},
        "required": [camel(row.name) for row in parameters if row.default is inspect.Parameter.empty],
        "additionalProperties": False,
    }
    return {"name": control.name, "description": control.doc, "effect": control.changes, "arguments": schema}


def _defined(schema: Schema, of: Schema) -> Schema:
    """Return a schema with the OpenAPI definitions that it refers to, directly or indirectly."""
    used: Schema = {}

    def read(part: object) -> Any:
        text = json.dumps(part).replace("#/components/schemas/", "#/$defs/")
        for name in re.findall(r'"#/\$defs/(\w+)"', text):
            if name not in used:
                used[name] = {}  # stored before the read, since the schema may refer to itself
                used[name] = read(of["components"]["schemas"][name])
        return strict_json.stored(text)

    return {**read(schema), **({"$defs": used} if used else {})}
