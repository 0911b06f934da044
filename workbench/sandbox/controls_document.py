"""OpenAPI 3.1 document of a served sandbox's controls, generated from their declarations."""

import inspect
from collections.abc import Mapping
from types import NoneType
from typing import get_origin

from workbench.base.arguments import Between, kinds_of, limits_of
from workbench.sandbox.context import python_name
from workbench.sandbox.controls import CONTROLS
from workbench.sandbox.controls.declaration import Control
from workbench.sandbox.store import Record
from workbench.service.interface.openapi import ERROR_SCHEMA
from workbench.service.interface.table import ERRORS, KEY_HEADER, VERSION

_TYPES = {str: "string", int: "integer", float: "number", bool: "boolean", Mapping: "object", NoneType: "null"}


_TENANT = {
    "name": "Workbench-Session-Key",
    "in": "header",
    "description": "API key of a tenant, to act only on this tenant's records",
    "schema": {"type": "string"},
}


def controls_document(url: str) -> Record:
    """Return the OpenAPI 3.1 document of the controls served at a URL, as plain data."""
    bodies = {_body_name(row): _body(row) for row in CONTROLS.values()}
    paths: Record = {f"/{name}": {"post": _operation(row)} for name, row in CONTROLS.items()}
    # only other machines need a key for the guide
    paths["/guide"]["get"] = _read("get_guide", CONTROLS["guide"].summary, [{"ApiKey": []}, {}], 401, 403)
    paths["/health"] = {"get": _read("get_health", "Return 200 while the server is ready.", [], 503)}
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "Controls of a sandbox",
            "version": VERSION,
            "description": "Actions of a sandbox beyond the interface. No other service has these paths.",
        },
        "servers": [{"url": url}],
        "tags": [{"name": "controls"}],
        "security": [{"ApiKey": []}],
        "paths": paths,
        "components": {
            "securitySchemes": {"ApiKey": {"type": "apiKey", "in": "header", "name": KEY_HEADER}},
            "schemas": {"Error": ERROR_SCHEMA, **bodies},
        },
    }


def _operation(row: Control) -> Record:
    body, name = {"$ref": f"#/components/schemas/{_body_name(row)}"}, python_name(row.name)
    return {
        "operationId": row.name,
        "tags": ["controls"],
        "summary": row.summary,
        "description": row.doc,
        "parameters": [_TENANT],
        "x-python": f"sandbox.{name if '.' in name else row.method.__name__}",
        "requestBody": {"required": bool(_required(row)), "content": {"application/json": {"schema": body}}},
        "responses": _responses(400, 401, 403, 404, 415),
    }


def _read(name: str, summary: str, security: list[Record], *failures: int) -> Record:
    """Return the description of a read without arguments."""
    responses = _responses(*failures)
    return {"operationId": name, "tags": ["controls"], "summary": summary, "security": security, "responses": responses}


def _responses(*failures: int) -> Record:
    error = {"application/json": {"schema": {"$ref": "#/components/schemas/Error"}}}
    responses: Record = {
        "200": {"description": "Result of the control", "content": {"application/json": {"schema": {}}}}
    }
    responses |= {str(status): {"description": ERRORS[status], "content": error} for status in (*failures, 405)}
    responses["405"]["headers"] = {"Allow": {"description": "Allowed methods", "schema": {"type": "string"}}}
    return responses


def _body_name(row: Control) -> str:
    return "".join(part.capitalize() for part in row.name.split("_")) + "Arguments"


def _required(row: Control) -> list[str]:
    return [name for name in row.hints if row.signature.parameters[name].default is inspect.Parameter.empty]


def _body(row: Control) -> Record:
    schema: Record = {"type": "object", "additionalProperties": False}
    schema["properties"] = {name: argument_schema(row, name) for name in row.hints}
    return schema | ({"required": _required(row)} if _required(row) else {})


def argument_schema(row: Control, name: str) -> Record:
    declared, limit = limits_of(row.hints[name])
    kinds = kinds_of(declared)
    types = [_TYPES[get_origin(kind) or kind] for kind in kinds]
    schema: Record = {"type": types if len(types) > 1 else types[0]}
    if isinstance(limit, Between):
        schema |= {"minimum": limit.low, "maximum": limit.high} | ({"x-unit": limit.unit} if limit.unit else {})
    elif limit is not None:
        schema["enum"] = [*map(str, limit), *([None] if NoneType in kinds else [])]
    default = row.signature.parameters[name].default
    return schema if default in (inspect.Parameter.empty, None) else schema | {"default": default}
