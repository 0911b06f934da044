"""A server of the Model Context Protocol: operations, controls, sequences and rules as tools and resources for coding agents.

Tools are made from the declarations. Answers are masked, and text of the service is passed on as data. In production an effect
needs an armed session, and each call the confirmation of the person at the client.
"""

import asyncio
import hashlib
import hmac
import inspect
import json
import re
import secrets
from collections.abc import Mapping
from typing import Any, get_args

import mcp.types as types
from mcp.server.lowlevel import Server
from mcp.server.stdio import stdio_server
from mcp.shared.exceptions import MCPError, NoBackChannelError

from workbench import sequences
from workbench.errors import WorkbenchError, visible
from workbench.interface.assumptions import assumptions
from workbench.interface.events import EVENT_KINDS
from workbench.interface.openapi import document
from workbench.interface.table import OPERATIONS, Operation
from workbench.sandbox.control_records import to_json
from workbench.sandbox.controls import CONTROLS
from workbench.schema import strict_json
from workbench.schema.masks import masked
from workbench.session import sandbox_of

Schema = dict[str, Any]
_JSON = "application/json"
_SHOWN = ("id", "reason", "confidence", "change")  # of an assumption
_LEFT_OUT = frozenset({"wallet_sign", "execute", "rotate_signing_key"})  # they take keys or signatures
_CONTROLS = {f"sandbox_{name}": row for name, row in CONTROLS.items() if name not in _LEFT_OUT}
_KEYS = frozenset({"api_key", "signing_key"})
_TYPES: Mapping[Any, str] = {int: "integer", float: "number", bool: "boolean", str: "string"}
_CONFIRM: Schema = {
    "type": "object", "properties": {"confirm": {"type": "boolean", "title": "Send it"}}, "required": ["confirm"],
}  # fmt: skip
_INSTRUCTIONS = (
    "Tools of a card issuing service. Amounts are whole cents. Tools that begin with sandbox_ control an embedded sandbox and do not exist "
    "in the service. Read workbench://assumptions for what is assumed. A call whose outcome is unknown must not be repeated."
)


def make_server(api: Any) -> Server[Any]:
    """Return the server of a session.

    Args:
        api: A session on a sandbox, or on a service; in production, effects need it to be armed.
    """
    tools = _Tools(api)
    return Server(
        "card-issuing-workbench", instructions=_INSTRUCTIONS, on_list_tools=tools.list, on_call_tool=tools.call,
        on_list_resources=_list_resources, on_read_resource=_read_resource,
    )  # fmt: skip


async def serve(api: Any) -> None:
    """Serve a session over standard input and output, until they are closed."""
    server = make_server(api)
    async with stdio_server() as (read, write):
        await server.run(read, write, server.create_initialization_options())


class _Tools:
    """The tools of a session."""

    def __init__(self, api: Any) -> None:
        self._api = api
        self._sandbox = sandbox_of(api)
        self._secret = secrets.token_bytes(32)

    async def list(self, _: Any, __: Any) -> types.ListToolsResult:
        """Return the tools: operations that the environment has, controls of a sandbox, and sequences."""
        production, real = self._api.environment == "production", self._sandbox is None
        rows = (row for row in OPERATIONS.values() if not (row.sandbox_only and production))
        tools = [_operation_tool(row, real=real) for row in rows]
        if self._sandbox is not None:
            tools += [*(_control_tool(name, row) for name, row in _CONTROLS.items()), _SEQUENCES, _RUN]
        return types.ListToolsResult(tools=tools)

    async def call(
        self, context: Any, asked: types.CallToolRequestParams
    ) -> types.CallToolResult | types.InputRequiredResult:
        """Run a tool; a refusal is a result that says so."""
        name, given = asked.name, dict(asked.arguments or {})
        try:
            operation = OPERATIONS.get(name)
            if operation is not None:
                if (question := await self._confirm(context, operation, asked)) is not None:
                    return question
                request = self._api.from_wire(operation, given)
                answer = masked(await asyncio.to_thread(self._api.send, request))
            elif self._sandbox is None or name not in {*_CONTROLS, _SEQUENCES.name, _RUN.name}:
                raise WorkbenchError(f"there is no tool {visible(name, 60)!r}")
            elif name in _CONTROLS:
                answer = await asyncio.to_thread(self._control, _CONTROLS[name].name, given)
            elif name == _RUN.name:
                answer = await asyncio.to_thread(self._run, **given)
            else:
                answer = {one: found.doc for one, found in sequences.catalogue.items()}
        except (WorkbenchError, TypeError, ValueError) as error:
            return _result(visible(str(error), 2_000), is_error=True)
        return _result(strict_json.dumps(answer).decode())

    def _control(self, name: str, given: Mapping[str, Any]) -> Any:
        answer = getattr(self._sandbox, name)(**given)
        if name == "guide":  # keys are no data of an agent
            answer = {key: value for key, value in answer.items() if key != "api_keys"}
        return masked_plain(to_json(answer))

    def _run(self, name: str, parameters: Mapping[str, Any] | None = None) -> Any:
        if name not in sequences.catalogue:
            raise WorkbenchError(f"there is no sequence {visible(str(name), 60)!r}; list_sequences names them")
        run = sequences.run(sequences.catalogue[name], self._api, progress=False, **(parameters or {}))
        return {"verdict": run.verdict, "steps": [masked_plain(row) for row in run.rows()]}

    async def _confirm(
        self, context: Any, operation: Operation[..., Any], asked: types.CallToolRequestParams
    ) -> types.InputRequiredResult | None:
        """Ask the person at the client before an effect in production; return the question where it is still open.

        Raises:
            WorkbenchError: The person did not confirm, or cannot be asked.
        """
        if not operation.effect or self._api.environment != "production" or self._sandbox is not None:
            return None
        given = strict_json.dumps(masked(dict(asked.arguments or {}), of=operation.request)).decode()
        question = f"{operation.name} in production at {self._api.host}: {visible(given, 500)}"
        state = hmac.new(self._secret, strict_json.dumps([asked.name, asked.arguments]), hashlib.sha256).hexdigest()
        if asked.input_responses is None:
            try:
                answer: Any = await context.session.elicit_form(question, _CONFIRM)
            except NoBackChannelError:  # the client asks, and calls again
                form = types.ElicitRequestFormParams(message=question, requested_schema=_CONFIRM)
                requests: dict[str, Any] = {"confirm": types.ElicitRequest(params=form)}
                return types.InputRequiredResult(input_requests=requests, request_state=state)
            except MCPError:
                raise WorkbenchError("the person cannot be asked by this client; nothing was sent") from None
        elif hmac.compare_digest(state, asked.request_state or ""):
            answer = asked.input_responses.get("confirm")
        else:
            raise WorkbenchError("the confirmation is that of another call; nothing was sent")
        accepted = isinstance(answer, types.ElicitResult) and answer.action == "accept"
        if not accepted or not (answer.content or {}).get("confirm"):
            raise WorkbenchError("the person did not confirm; nothing was sent")
        return None


def masked_plain(value: Any) -> Any:
    """Return JSON values; records of the sandbox print masked, and are taken so."""
    if isinstance(value, Mapping):
        shown = value.shown() if hasattr(value, "shown") else value
        return {str(name): masked_plain(inner) for name, inner in shown.items()}
    if isinstance(value, list | tuple):
        return [masked_plain(inner) for inner in value]
    return value if value is None or isinstance(value, bool | int | float | str) else str(value)


def _result(text: str, *, is_error: bool = False) -> types.CallToolResult:
    return types.CallToolResult(content=[types.TextContent(type="text", text=text)], is_error=is_error)


# schemas


def _operation_tool(operation: Operation[..., Any], *, real: bool) -> types.Tool:
    described = _DOCUMENT["paths"][operation.path][operation.method.lower()]
    parameters = described.get("parameters", ())
    properties: Schema = {
        one["name"]: {**one["schema"], "description": one.get("description", "")} for one in parameters
    }
    required = [one["name"] for one in parameters if one.get("required")]
    schema: Schema = {"type": "object", "properties": properties, "required": required}
    if "requestBody" in described:
        (content,) = described["requestBody"]["content"].values()
        body = _DOCUMENT["components"]["schemas"][content["schema"]["$ref"].rpartition("/")[2]]
        properties |= body.get("properties", {})
        required += body.get("required", [])
        schema |= {name: value for name, value in body.items() if name in ("oneOf", "anyOf", "allOf")}
    return types.Tool(
        name=operation.name, description=f"{operation.doc} {described['description']}", input_schema=_local(schema),
        annotations=types.ToolAnnotations(
            read_only_hint=not operation.effect, destructive_hint=operation.effect, idempotent_hint=not operation.effect, open_world_hint=real
        ),
    )  # fmt: skip


def _local(schema: Schema) -> Schema:
    """Return a schema whose references point into itself, with the definitions it uses."""
    used: Schema = {}

    def read(part: Any) -> Any:
        text = json.dumps(part).replace("#/components/schemas/", "#/$defs/")
        for name in re.findall(r'"#/\$defs/(\w+)"', text):
            if name not in used:
                used[name] = {}  # it may refer to itself
                used[name] = read(_DOCUMENT["components"]["schemas"][name])
        return json.loads(text)

    return {**read(schema), **({"$defs": used} if used else {})}


def _control_tool(name: str, row: Any) -> types.Tool:
    parameters = [one for one in row.signature.parameters.values() if one.name not in {"self", *_KEYS}]
    properties = {one.name: _argument(one.annotation) for one in parameters}
    required = [one.name for one in parameters if one.default is inspect.Parameter.empty]
    return types.Tool(
        name=name, description=inspect.cleandoc(row.doc),
        input_schema={"type": "object", "properties": properties, "required": required, "additionalProperties": False},
        annotations=types.ToolAnnotations(read_only_hint=not row.changes, destructive_hint=row.name == "reset", open_world_hint=False),
    )  # fmt: skip


def _argument(annotation: Any) -> Schema:
    kinds = [_TYPES[kind] for kind in (annotation, *get_args(annotation)) if kind in _TYPES]
    return {"type": kinds[0] if kinds else "object"}


_SEQUENCES = types.Tool(
    name="list_sequences", description="List the sequences of the catalogue: scripted transactions and applications.",
    input_schema={"type": "object", "properties": {}}, annotations=types.ToolAnnotations(read_only_hint=True, open_world_hint=False),
)  # fmt: skip
_RUN = types.Tool(
    name="run_sequence", description="Run a sequence of the catalogue in the sandbox, and return its verdict and steps.",
    input_schema={
        "type": "object", "properties": {"name": {"type": "string"}, "parameters": {"type": "object"}}, "required": ["name"],
    },
    annotations=types.ToolAnnotations(read_only_hint=False, destructive_hint=False, open_world_hint=False),
)  # fmt: skip
_DOCUMENT = document()


# resources


def _resources() -> Mapping[str, tuple[str, Any]]:
    """Return what each address leads to, with what it is."""
    paths, kinds = _DOCUMENT["paths"], _DOCUMENT["webhooks"]
    assumed = [{name: str(getattr(one, name)) for name in _SHOWN if hasattr(one, name)} for one in assumptions()]
    return {
        "workbench://openapi": ("The interface as an OpenAPI document", _DOCUMENT),
        "workbench://assumptions": ("What is assumed where the interface document is silent", assumed),
        **{f"workbench://operations/{name}": (row.doc, paths[row.path][row.method.lower()]) for name, row in OPERATIONS.items()},
        **{f"workbench://events/{kind.name}": (kind.doc, kinds[kind.name]) for kind in EVENT_KINDS.values()},
    }  # fmt: skip


async def _list_resources(_: Any, __: Any) -> types.ListResourcesResult:
    listed = [
        types.Resource(uri=uri, name=uri.removeprefix("workbench://"), description=doc, mime_type=_JSON)
        for uri, (doc, _) in _resources().items()
    ]
    return types.ListResourcesResult(resources=listed)


async def _read_resource(_: Any, asked: types.ReadResourceRequestParams) -> types.ReadResourceResult:
    uri = str(asked.uri)
    found = _resources().get(uri)
    if found is None:
        raise ValueError(f"there is no resource {visible(uri, 100)!r}")
    content = types.TextResourceContents(uri=uri, mime_type=_JSON, text=json.dumps(found[1], indent=1))
    return types.ReadResourceResult(contents=[content])
