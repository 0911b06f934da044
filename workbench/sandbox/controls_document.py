"""OpenAPI 3.1 document of a served sandbox's controls, generated from their declarations."""

import inspect
from collections.abc import Mapping
from types import NoneType, UnionType
from typing import Any, get_args, get_origin

from workbench.sandbox.controls import CONTROLS
from workbench.sandbox.controls.declaration import Between, Control, limits_of
from workbench.service.interface.openapi import ERROR_SCHEMA
from workbench.service.interface.table import ERRORS, KEY_HEADER, VERSION

Schema = dict[str, Any]

_TYPES = {str: "string", int: "integer", float: "number", bool: "boolean", Mapping: "object", NoneType: "null"}


def controls_document(url: str) -> Schema:
    """Return the OpenAPI 3.1 document of the controls under a URL, as plain data."""
    bodies = {_body_name(row): _body(row) for row in CONTROLS.values()}
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "Controls of a sandbox",
            "version": VERSION,
            "description": "What a sandbox does beyond the interface. No other service has these paths.",
        },
        "servers": [{"url": url}],
        "tags": [{"name": "controls"}],
        "security": [{"ApiKey": []}],
        "paths": {f"/{name}": {"post": _operation(row)} for name, row in CONTROLS.items()},
        "components": {
            "securitySchemes": {"ApiKey": {"type": "apiKey", "in": "header", "name": KEY_HEADER}},
            "schemas": {"Error": ERROR_SCHEMA, **bodies},
        },
    }


def _operation(row: Control) -> Schema:
    body = {"$ref": f"#/components/schemas/{_body_name(row)}"}
    failure = {"application/json": {"schema": {"$ref": "#/components/schemas/Error"}}}
    return {
        "operationId": row.name,
        "tags": ["controls"],
        "summary": row.summary,
        "description": row.doc,
        "requestBody": {"required": bool(_required(row)), "content": {"application/json": {"schema": body}}},
        "responses": {
            "200": {"description": "Result of the control", "content": {"application/json": {"schema": {}}}},
            **{str(status): {"description": ERRORS[status], "content": failure} for status in (400, 401, 403, 404)},
        },
    }


def _body_name(row: Control) -> str:
    return "".join(part.capitalize() for part in row.name.split("_")) + "Arguments"


def _required(row: Control) -> list[str]:
    return [name for name in row.hints if row.signature.parameters[name].default is inspect.Parameter.empty]


def _body(row: Control) -> Schema:
    schema: Schema = {"type": "object", "additionalProperties": False}
    schema["properties"] = {name: _argument(row, name) for name in row.hints}
    return schema | ({"required": _required(row)} if _required(row) else {})


def _argument(row: Control, name: str) -> Schema:
    declared, limit = limits_of(row.hints[name])
    kinds = get_args(declared) if get_origin(declared) is UnionType else (declared,)
    types = [_TYPES[get_origin(kind) or kind] for kind in kinds]
    schema: Schema = {"type": types if len(types) > 1 else types[0]}
    if isinstance(limit, Between):
        schema |= {"minimum": limit.low, "maximum": limit.high} | ({"x-unit": limit.unit} if limit.unit else {})
    elif limit is not None:
        schema["enum"] = [*map(str, limit), *([None] if NoneType in kinds else [])]
    default = row.signature.parameters[name].default
    return schema if default in (inspect.Parameter.empty, None) else schema | {"default": default}
