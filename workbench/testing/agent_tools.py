"""Model Context Protocol server for coding agents: four tools, and the rules as resources.

Operations, controls and sequences are called by name, with JSON arguments in wire names. Answers are masked JSON. In
production a call with an effect needs an armed session, and the confirmation of the person at the client.
"""

import asyncio
import hashlib
import inspect
import json
import re
import secrets
from collections.abc import Iterator, Mapping
from datetime import date
from decimal import Decimal
from typing import Any, get_args

import attrs
import mcp.types as types
from mcp.server.lowlevel import Server
from mcp.server.stdio import stdio_server
from mcp.shared.exceptions import MCPError, NoBackChannelError

from workbench.base.errors import InvalidRequest, WorkbenchError, visible
from workbench.base.remedies import worded_for
from workbench.base.schema.masks import MaskedDict, masked
from workbench.base.schema.walk import camel, is_record, snake
from workbench.client.calls.base import context_of
from workbench.client.calls.guards import confirmation_text
from workbench.client.calls.request_checks import findings
from workbench.client.session import sandbox_of
from workbench.runs import sequences
from workbench.runs.sequences.sequence import PARAMETER_TYPES, Sequence
from workbench.sandbox.controls import CONTROLS, perform
from workbench.service.interface.assumptions import assumptions
from workbench.service.interface.events import EVENT_KINDS
from workbench.service.interface.openapi import document
from workbench.service.interface.table import OPERATIONS, Operation

Schema = dict[str, Any]
_JSON = "application/json"
_ASSUMPTION_MEMBERS = ("id", "reason", "confidence", "change")
_KEY_CONTROLS = frozenset(
    {"wallet_sign", "execute", "update_endpoint", "create_key"}
)  # they take or return keys or signatures
_PANEL_CONTROLS = frozenset({"changes", "savepoint", "undo"})
_CONTROLS = {name: row for name, row in CONTROLS.items() if name not in _KEY_CONTROLS | _PANEL_CONTROLS}
_WITHHELD = frozenset(
    {"self", "api_key", "signing_key", "reveal", "all_tenants"}
)  # arguments that an agent cannot pass
_TYPES: Mapping[Any, str] = {int: "integer", float: "number", bool: "boolean", str: "string"}
_PARAMETER_TYPES = {"whole": "integer", "flag": "boolean"}
_MAX_ARGUMENTS = 500_000  # characters
_MAX_ANSWER = 1_000_000
_MAX_QUESTION = 2_000
_MAX_PENDING = 100
_CONFIRM: Schema = {
    "type": "object",
    "properties": {"confirm": {"type": "boolean", "title": "Send it"}},
    "required": ["confirm"],
}
_INSTRUCTIONS = (
    "A card issuing service. Amounts are whole cents. `describe` lists what can be called, and with a name its "
    "arguments. Controls "
    "and sequences act on an embedded sandbox and do not exist in the service. Read workbench://assumptions for what "
    "is assumed. "
    "Never repeat a call whose outcome is unknown."
)


def make_server(api: Any) -> Server[Any]:
    """Return the MCP server of a session.

    Args:
        api: A session on a sandbox or a service; in production, calls with an effect require it to be armed.
    """
    tools = _Tools(api)
    return Server(
        "card-issuing-workbench",
        instructions=_INSTRUCTIONS,
        on_list_tools=tools.list,
        on_call_tool=tools.call,
        on_list_resources=_list_resources,
        on_read_resource=_read_resource,
    )


async def serve(api: Any) -> None:
    """Serve a session over standard input and output until they are closed."""
    server = make_server(api)
    async with stdio_server() as (read, write):
        await server.run(read, write, server.create_initialization_options())


class _Tools:
    """The tools of a session."""

    def __init__(self, api: Any) -> None:
        self._api = api
        self._sandbox = sandbox_of(api)
        self._pending: dict[str, str] = {}  # questions that a client asks itself, by their state: digests of the calls

    async def list(self, _: Any, __: Any) -> types.ListToolsResult:
        """Return the tools: `describe` and `call`, and with a sandbox `control` and `run_sequence`."""
        shown = [_DESCRIBE, _CALL] if self._sandbox is None else [_DESCRIBE, _CALL, _CONTROL, _RUN]
        return types.ListToolsResult(tools=shown)

    async def call(
        self, context: object, params: types.CallToolRequestParams
    ) -> types.CallToolResult | types.InputRequiredResult:
        """Run a tool; a refused call returns an error result."""
        with worded_for("agent"):
            return await self._called(context, params)

    async def _called(
        self, context: object, params: types.CallToolRequestParams
    ) -> types.CallToolResult | types.InputRequiredResult:
        try:
            tools = {tool.name for tool in (await self.list(None, None)).tools}
            if params.name not in tools:
                raise WorkbenchError(f"no tool {visible(params.name, 60)!r} (known: {', '.join(sorted(tools))})")
            name, arguments = _tool_arguments(params)
            if params.name == "call":
                operation, request = self._request(name, arguments)
                if (question := await self._confirm(context, operation, request, params)) is not None:
                    return question
                answer = masked(await asyncio.to_thread(self._api.send, request))
            else:
                run = {"describe": self._describe, "control": self._control, "run_sequence": self._run}[params.name]
                answer = await asyncio.to_thread(run, name, arguments)
            return _result(answer)
        except WorkbenchError as error:
            refusal = {"error": type(error).__name__, "message": visible(str(error).replace("\n", " "), 2_000)}
            return _result(refusal, is_error=True)

    def _operations(self) -> dict[str, Operation[..., Any]]:
        production = self._api.environment == "production"
        return {name: row for name, row in OPERATIONS.items() if not (row.sandbox_only and production)}

    def _describe(self, name: str | None, _: Mapping[str, Any]) -> Any:
        controls = {} if self._sandbox is None else _CONTROLS
        runnable = {} if self._sandbox is None else sequences.catalogue
        if name is None:
            return {
                "operations": {name: row.doc for name, row in self._operations().items()},
                "controls": {name: row.summary for name, row in controls.items()},
                "sequences": {name: sequence.doc for name, sequence in runnable.items()},
            }
        if name in self._operations():
            return self._schema(OPERATIONS[name])
        if name in controls:
            return _control_schema(controls[name])
        if name in runnable:
            return _sequence_schema(runnable[name])
        raise WorkbenchError(f"nothing is called {visible(name, 60)!r}; describe without a name lists all names")

    def _request(self, name: str | None, arguments: Mapping[str, Any]) -> tuple[Operation[..., Any], Any]:
        """Return the operation and its request record for tool arguments."""
        operation = self._operations().get(name or "")
        if operation is None:
            raise WorkbenchError(f"no operation {visible(str(name), 60)!r} (known: {', '.join(self._operations())})")
        unknown = list(_unknown(arguments, self._schema(operation)["arguments"]))
        if unknown:
            shown = visible(", ".join(unknown), 200)
            raise WorkbenchError(f"{operation.name}: no argument {shown}; describe lists them. Nothing was sent.")
        return operation, self._api.from_wire(operation, arguments)

    def _schema(self, operation: Operation[..., Any]) -> Schema:
        return _operation_schema(operation, document(self._api.converter.names))

    def _control(self, name: str | None, arguments: Mapping[str, Any]) -> Any:
        row = _CONTROLS.get(name or "")
        if row is None or self._sandbox is None:
            raise WorkbenchError(f"no control {visible(str(name), 60)!r} (known: {', '.join(_CONTROLS)})")
        schema = _control_schema(row)["arguments"]
        _check_names(arguments, schema["properties"], row.name, schema["required"])
        answer = perform(self._sandbox, row.name, {snake(key): value for key, value in arguments.items()})
        if row.name == "guide":  # its examples are ids, and its keys no data of an agent
            return _plain({key: value for key, value in answer.items() if key != "api_keys"})
        return _plain(answer)

    def _run(self, name: str | None, arguments: Mapping[str, Any]) -> Any:
        sequence = sequences.catalogue.get(name or "")
        if sequence is None:
            raise WorkbenchError(f"no sequence {visible(str(name), 60)!r} (known: {', '.join(sequences.catalogue)})")
        _check_names(arguments, _sequence_schema(sequence)["arguments"]["properties"], sequence.name)
        readers = {parameter.name: parameter.read for parameter in sequence.parameters}
        values = {snake(key): readers[snake(key)](value) for key, value in arguments.items()}
        run = sequences.run(self._api, sequence, progress=False, **values)
        return {"verdict": run.verdict, "steps": [_plain(row) for row in run.rows()]}

    async def _confirm(
        self, context: Any, operation: Operation[..., Any], request: Any, params: types.CallToolRequestParams
    ) -> types.InputRequiredResult | None:
        """Ask the person at the client to confirm an effect in production; return the question while it is unanswered.

        Raises:
            WorkbenchError: The call would be refused anyway, is too large to show, was not confirmed, or the client
                cannot ask a person.
        """
        if not operation.effect or self._api.environment != "production" or self._sandbox is not None:
            return None
        context_of(self._api).check_operation(operation)  # an unarmed session asks nobody
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
            except NoBackChannelError:  # the client asks, and calls again
                form = types.ElicitRequestFormParams(message=question, requested_schema=_CONFIRM)
                requests: dict[str, Any] = {"confirm": types.ElicitRequest(params=form)}
                state = secrets.token_hex(16)
                self._pending[state] = digest
                for oldest in [*self._pending][:-_MAX_PENDING]:
                    del self._pending[oldest]
                return types.InputRequiredResult(input_requests=requests, request_state=state)
            except MCPError:
                raise WorkbenchError("this client cannot ask for confirmation; nothing was sent") from None
        elif self._pending.pop(params.request_state or "", "") == digest:  # one answer allows one call
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
        WorkbenchError: The arguments are malformed or too large.
    """
    given = dict(params.arguments or {})
    name, arguments = given.pop("name", None), given.pop("arguments", None)
    try:
        size = len(json.dumps(arguments))
    except (TypeError, ValueError, RecursionError):
        size = _MAX_ARGUMENTS + 1
    if given or not isinstance(name, str | None) or not isinstance(arguments, Mapping | None):
        raise WorkbenchError(f"{params.name} takes a name and an object of arguments, and nothing else")
    if name is None and params.name != "describe":
        raise WorkbenchError(f"{params.name} needs a name; `describe` lists them")
    if size > _MAX_ARGUMENTS:
        raise WorkbenchError(f"the arguments are larger than {_MAX_ARGUMENTS:,} characters, or are not JSON")
    return name, arguments or {}


def _check_names(given: Mapping[str, Any], known: Mapping[str, Any], of: str, required: Any = ()) -> None:
    """Raise an error for unknown or missing arguments."""
    unknown = [visible(str(name), 60) for name in given if name not in known]
    missing = [name for name in required if name not in given]
    if unknown or missing:
        problems = [f"no argument {name}" for name in unknown] + [f"{name} is missing" for name in missing]
        raise WorkbenchError(f"{of}: {'; '.join(problems[:10])} (known: {', '.join(known) or 'none'})")


def _plain(value: Any) -> Any:
    """Return a value as JSON with wire names and private values masked.

    Raises:
        TypeError: The value has no JSON form.
    """
    if is_record(value) or isinstance(value, MaskedDict):
        return _plain(masked(value))
    if attrs.has(type(value)):
        return {camel(field.name): _plain(getattr(value, field.name)) for field in attrs.fields(type(value))}
    if isinstance(value, Mapping):
        return {camel(name) if _SNAKE.fullmatch(name) else name: _plain(inner) for name, inner in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(inner) for inner in value]
    if isinstance(value, date):
        return value.isoformat()
    if isinstance(value, Decimal):
        return format(value, "f")
    if value is None or isinstance(value, bool | int | float | str):
        return value
    raise TypeError(f"{type(value).__name__} has no JSON form")


_SNAKE = re.compile(r"[a-z0-9]+(_[a-z0-9]+)+")


def _result(answer: Any, *, is_error: bool = False) -> types.CallToolResult:
    text = json.dumps(answer, default=str if is_error else _plain)
    if len(text) > _MAX_ANSWER:
        raise WorkbenchError(f"the answer has {len(text):,} characters, more than {_MAX_ANSWER:,}; ask for less")
    return types.CallToolResult(content=[types.TextContent(type="text", text=text)], is_error=is_error)


# tools


def _tool(name: str, doc: str, *, needs_name: bool = True, **hints: Any) -> types.Tool:
    properties: Schema = {"name": {"type": "string"}}
    if needs_name:
        properties["arguments"] = {"type": "object"}
    return types.Tool(
        name=name,
        description=doc,
        input_schema={
            "type": "object",
            "properties": properties,
            "required": ["name"] if needs_name else [],
            "additionalProperties": False,
        },
        annotations=types.ToolAnnotations(**hints),
    )


_DESCRIBE = _tool(
    "describe",
    "List operations, controls and sequences; with a name, return its description and the schema of its arguments.",
    needs_name=False,
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
    "Call a control of the sandbox by its name: what the service does by itself, faults, time, and what there is to "
    "see.",
    read_only_hint=False,
    destructive_hint=True,
    open_world_hint=False,
)
_RUN = _tool(
    "run_sequence",
    "Run a sequence of the catalogue in the sandbox, and return its verdict and steps.",
    read_only_hint=False,
    destructive_hint=False,
    open_world_hint=False,
)


# schemas


def _operation_schema(operation: Operation[..., Any], of: Schema) -> Schema:
    """Return the description of an operation and the schema of its arguments, from an OpenAPI document."""
    described = of["paths"][operation.path][operation.method.lower()]
    parameters = described.get("parameters", ())
    properties: Schema = {
        row["name"]: {**row["schema"], "description": row.get("description", "")} for row in parameters
    }
    required = [row["name"] for row in parameters if row.get("required")]
    schema: Schema = {"type": "object", "properties": properties, "required": required}
    if "requestBody" in described:
        (content,) = described["requestBody"]["content"].values()
        parts = list(_parts(content["schema"], of["components"]["schemas"]))
        for part in parts:
            properties |= part.get("properties", {})
            required += part.get("required", [])
        rules = [{name: part[name] for name in ("oneOf", "anyOf") if name in part} for part in parts]
        schema |= {"allOf": [rule for rule in rules if rule]} if any(rules) else {}
    return {
        "name": operation.name,
        "description": f"{operation.doc} {described['description']}",
        "effect": operation.effect is not None,
        "arguments": _local(schema, of),
    }


def _parts(schema: Schema, definitions: Mapping[str, Schema]) -> Iterator[Schema]:
    """Yield a schema and the schemas of its `allOf`, which apply together."""
    if "$ref" in schema:
        schema = definitions[schema["$ref"].rpartition("/")[2]]
    yield schema
    for part in schema.get("allOf", ()):
        yield from _parts(part, definitions)


def _unknown(
    given: Any, schema: Schema, definitions: Mapping[str, Schema] | None = None, path: str = ""
) -> Iterator[str]:
    """Yield the paths of arguments that a schema does not define, which would be ignored."""
    definitions = schema.get("$defs", {}) if definitions is None else definitions
    known: Schema = {}
    for part in _parts(schema, definitions):
        known |= part.get("properties", {})
    if isinstance(given, Mapping) and (known or not path):
        for name, value in given.items():
            if name not in known:
                yield f"{path}{name}"
            else:
                yield from _unknown(value, known[name], definitions, f"{path}{name}.")


def _local(schema: Schema, of: Schema) -> Schema:
    """Return a self-contained schema, with the definitions that it uses."""
    used: Schema = {}

    def read(part: Any) -> Any:
        text = json.dumps(part).replace("#/components/schemas/", "#/$defs/")
        for name in re.findall(r'"#/\$defs/(\w+)"', text):
            if name not in used:
                used[name] = {}  # it may refer to itself
                used[name] = read(of["components"]["schemas"][name])
        return json.loads(text)

    return {**read(schema), **({"$defs": used} if used else {})}


def _control_schema(row: Any) -> Schema:
    """Return the description of a control and the schema of its arguments."""
    parameters = [parameter for parameter in row.signature.parameters.values() if parameter.name not in _WITHHELD]
    properties = {
        camel(parameter.name): _argument(parameter.annotation, row.choices.get(parameter.name))
        for parameter in parameters
    }
    required = [camel(parameter.name) for parameter in parameters if parameter.default is inspect.Parameter.empty]
    schema = {"type": "object", "properties": properties, "required": required, "additionalProperties": False}
    return {"name": row.name, "description": inspect.cleandoc(row.doc), "effect": row.changes, "arguments": schema}


def _argument(annotation: Any, choices: tuple[str, ...] | None) -> Schema:
    kinds = [_TYPES[kind] for kind in (annotation, *get_args(annotation)) if kind in _TYPES]
    return {"type": kinds[0] if kinds else "object", **({"enum": list(choices)} if choices else {})}


def _sequence_schema(sequence: Sequence) -> Schema:
    """Return the description of a sequence and the schema of its parameters."""
    properties = {
        camel(parameter.name): {
            "type": _PARAMETER_TYPES.get(parameter.type, "string"),
            "description": parameter.doc or PARAMETER_TYPES[parameter.type][1],
        }
        for parameter in sequence.parameters
    }
    schema = {"type": "object", "properties": properties, "additionalProperties": False}
    return {"name": sequence.name, "description": sequence.doc, "effect": True, "arguments": schema}


_DOCUMENT = document()


# resources


def _resources() -> Mapping[str, tuple[str, Any]]:
    """Return the description and content of each resource by address."""
    paths, kinds = _DOCUMENT["paths"], _DOCUMENT["webhooks"]
    assumed = [
        {name: str(getattr(row, name)) for name in _ASSUMPTION_MEMBERS if hasattr(row, name)} for row in assumptions()
    ]
    return {
        "workbench://openapi": ("The interface as an OpenAPI document", _DOCUMENT),
        "workbench://assumptions": ("What is assumed where the interface document is silent", assumed),
        **{
            f"workbench://operations/{name}": (row.doc, paths[row.path][row.method.lower()])
            for name, row in OPERATIONS.items()
        },
        **{f"workbench://events/{kind.name}": (kind.doc, kinds[kind.name]) for kind in EVENT_KINDS.values()},
    }


async def _list_resources(_: Any, __: Any) -> types.ListResourcesResult:
    listed = [
        types.Resource(uri=uri, name=uri.removeprefix("workbench://"), description=doc, mime_type=_JSON)
        for uri, (doc, _) in _resources().items()
    ]
    return types.ListResourcesResult(resources=listed)


async def _read_resource(_: Any, params: types.ReadResourceRequestParams) -> types.ReadResourceResult:
    uri = str(params.uri)
    resource = _resources().get(uri)
    if resource is None:
        raise ValueError(f"no resource {visible(uri, 100)!r}")
    content = types.TextResourceContents(uri=uri, mime_type=_JSON, text=json.dumps(resource[1], indent=1))
    return types.ReadResourceResult(contents=[content])
