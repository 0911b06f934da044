"""Options of clients and connections, with their rules."""

import os
import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, get_type_hints

import attrs

from workbench.base.arguments import Fits, argument_problem
from workbench.base.errors import Problem, unknown_name, visible
from workbench.base.frozen import frozen
from workbench.base.schema.walk import members, records, snake
from workbench.client.calls.base_url import base_url_or_problem
from workbench.client.calls.guards import Limits
from workbench.client.calls.journal import Journal
from workbench.client.calls.proxies import Proxy, environment_proxy, proxy_problem, read_proxy
from workbench.service.interface.convert import placeholders
from workbench.service.interface.events import EVENT_KINDS
from workbench.service.interface.table import KEY_HEADER, OPERATIONS

_TABLE = Fits(lambda value: isinstance(value, dict), "must be a table")
_RATE = Fits(lambda value: _is_number(value), "must be a number above 0")
_COUNT = Fits(lambda value: type(value) is int and value >= 0, "must be a whole number")
_SECONDS = Fits(
    lambda value: _is_number(value) and value <= 600, "must be a number of seconds, more than 0 and at most 600"
)
_ADDRESSES = Fits(lambda value: _is_list(value), "must be a list of addresses")
_COMMAND = Fits(lambda value: _is_list(value) and value != [], "must be a list of strings that starts with a program")
_POSITIVE = Fits(lambda value: type(value) is int and value > 0, "must be a whole number above 0")
_TEXT = Fits(lambda value: isinstance(value, str) and value, "must be non-empty text")
_FILE = Fits(lambda value: isinstance(value, str | Path) and Path(value).is_file(), "must be the path of a file")
_PROXY = Fits(
    lambda value: proxy_problem(value) is None,
    "must be the address of an HTTP proxy, such as http://proxy.example.com:3128; SOCKS is not supported",
)
_HTTP2 = Fits(
    lambda value: value is False or (value is True and _has_http2()),
    "must be true or false; true needs the package h2: run pip install h2",
)
LIMITS: Mapping[str, Any] = {
    **dict.fromkeys(("reads_per_second", "writes_per_second"), Annotated[float, _RATE]),
    **dict.fromkeys(("amount", "native_amount", "rows", "sum"), Annotated[int, _COUNT]),
    "recipients": Annotated[list[str], _ADDRESSES],
}
"""Annotations of the limits in a file."""


def rules_of(cls: type[Any]) -> Mapping[str, Any]:
    """Return the annotations of a class's fields that have defaults, by field name."""
    hints = get_type_hints(cls, include_extras=True)
    return {field.name: hints[field.name] for field in attrs.fields(cls) if field.default is not attrs.NOTHING}


@frozen(kw_only=True)
class HttpOptions:
    """Options of the connections to a service.

    Attributes:
        trust_env: Use HTTPS_PROXY, ALL_PROXY, NO_PROXY, SSL_CERT_FILE and SSL_CERT_DIR of the environment.
        proxy: Address of an HTTP proxy, such as "http://proxy.example.com:3128"; TLS is tunneled through it.
        http2: Offer HTTP/2; requires the package h2.
        max_connections: Maximum number of connections.
        max_keepalive_connections: Maximum number of idle connections.
        keepalive_expiry: Seconds before an idle connection is closed.
        connect_timeout: Seconds to establish a connection; None uses the timeout of the call.
        retries: Maximum retries of a read that got no answer.
        client_cert_file: PEM file of the client certificate (mutual TLS).
        client_key_file: PEM file of its unencrypted private key; None if the certificate file contains it.
        on_request: Function called with each `httpx.Request` before the key is added. It may add headers.
        on_response: Function called with each `httpx.Response` before its body is read.
    """

    trust_env: bool = False
    # the proxy's URL may contain a password
    proxy: Annotated[str | None, _PROXY] = attrs.field(default=None, repr=False)
    http2: Annotated[bool, _HTTP2] = False
    max_connections: Annotated[int, _POSITIVE] = 100
    max_keepalive_connections: Annotated[int, _POSITIVE] = 20
    keepalive_expiry: Annotated[float, _SECONDS] = 5.0
    connect_timeout: Annotated[float | None, _SECONDS] = None
    retries: Annotated[int, _COUNT] = 2
    client_cert_file: Annotated[str | None, _FILE] = None
    client_key_file: Annotated[str | None, _FILE] = None
    on_request: Callable[[Any], object] | None = None
    on_response: Callable[[Any], object] | None = None

    def proxy_for(self, scheme: str, host: str) -> Proxy | None:
        """Return the proxy for a host; None if its connections are direct."""
        if self.proxy is not None:
            return read_proxy(self.proxy, "http.proxy")
        return environment_proxy(scheme, host) if self.trust_env else None


@frozen(kw_only=True)
class Profile:
    """Connection settings of one service, from the profiles file."""

    name: str
    base_url: Annotated[str | None, _TEXT] = None
    environment: Annotated[str, _TEXT] = "sandbox"
    timeout: Annotated[float, _SECONDS] = 30.0
    ca_file: Annotated[str | None, _TEXT] = None
    journal: Annotated[str | None, _TEXT] = None
    key_variable: Annotated[str | None, _TEXT] = None
    forget_key_variable: bool = False
    key_command: Annotated[Sequence[str] | None, _COMMAND] = None
    webhook_key_command: Annotated[Sequence[str] | None, _COMMAND] = None
    idempotency_header: Annotated[str | None, _TEXT] = None
    wire_names: Annotated[Mapping[str, str], _TABLE] = attrs.field(factory=dict)
    sandbox: Annotated[Mapping[str, Any], _TABLE] = attrs.field(factory=dict)
    limits: Annotated[Limits, _TABLE] = attrs.field(factory=Limits)
    http: Annotated[Mapping[str, Any], _TABLE] = attrs.field(factory=dict, repr=False)


def _has_http2() -> bool:
    from importlib.util import find_spec

    return find_spec("h2") is not None


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and value > 0


def _is_list(value: object) -> bool:
    return isinstance(value, list) and all(isinstance(item, str) for item in value)


def checked(table: Mapping[str, Any], rules: Mapping[str, Any], where: str, problems: list[Problem]) -> dict[str, Any]:
    """Return the valid members of a table; append problems of invalid members to `problems`."""
    right = {}
    for key, value in table.items():
        if key not in rules:
            problems.append(attrs.evolve(unknown_name(key, rules, "known"), path=where + visible(str(key), 60)))
        elif problem := argument_problem(where + key, value, rules[key]):
            problems.append(problem)
        else:
            right[key] = value
    return right


def unused_proxy(options: HttpOptions) -> str | None:
    """Return the name of a proxy variable that is set but ignored; None without such a variable."""
    if options.trust_env or options.proxy is not None:
        return None
    names = ("HTTPS_PROXY", "https_proxy", "ALL_PROXY", "all_proxy")
    return next((name for name in names if os.environ.get(name)), None)


def client_problems(
    *,
    base_url: object = None,
    environment: object = "sandbox",
    timeout: object = None,
    limits: object = None,
    wire_names: object = None,
    idempotency_header: object = None,
    journal: object = None,
    http: object = None,
    ca_file: object = None,
    **_: object,
) -> list[Problem]:
    """Return all problems of a client's arguments; omitted arguments are valid."""
    problems = []
    if environment not in ("sandbox", "production"):
        problems.append(Problem("environment", "enum", 'must be "sandbox" or "production"'))
    if base_url is not None and isinstance(url := base_url_or_problem(base_url), str):
        problems.append(Problem("base_url", "base_url", url))
    if timeout is not None and not _is_number(timeout):
        problems.append(Problem("timeout", "minimum", "must be a number of seconds, more than 0"))
    if limits is not None and not isinstance(limits, Limits):
        problems.append(Problem("limits", "type", "must be Limits(…), such as Limits(amount=100_000)"))
    if idempotency_header is not None and (wrong := header_problem(idempotency_header)):
        problems.append(Problem("idempotency_header", "header", wrong))
    if ca_file is not None and (problem := argument_problem("ca_file", ca_file, Annotated[str, _FILE])):
        problems.append(problem)
    if isinstance(http, Mapping):
        checked(http, rules_of(HttpOptions), "http.", problems)
    elif http is not None:
        problems.append(Problem("http", "type", "must be a mapping of options, such as {'trust_env': True}"))
    if wire_names is not None and not isinstance(wire_names, Mapping):
        problems.append(Problem("wire_names", "type", "must be a mapping of names"))
    else:
        problems += wire_name_problems(wire_names or {})
    if not isinstance(journal, Journal | str | Path | None) and journal is not False:
        problems.append(Problem("journal", "type", "must be a Journal, a path or False"))
    if journal is False and environment == "production":
        problems.append(Problem("journal", "required", "is required in production"))
    return problems


def wire_name_problems(names: Mapping[str, Any]) -> list[Problem]:
    """Return the problems of a table of wire names."""
    records_by_name = _renamable() if names else {}
    problems = []
    for name, wire in names.items():
        path = f'wire_names."{visible(str(name), 80)}"'
        if name not in records_by_name:
            problems.append(attrs.evolve(unknown_name(name, records_by_name, "the name of a field"), path=path))
        elif not isinstance(wire, str) or not wire or not wire.isascii() or not wire.isidentifier():
            problems.append(Problem(path, "type", "must be the name of a member, such as declineReason"))
        elif wire in {
            names.get(key, member.wire)
            for member in members(records_by_name[name])
            if (key := f"{snake(records_by_name[name].__name__)}.{member.name}") != name
        }:
            problems.append(Problem(path, "twice", f"is {wire!r}, the name of another member of the record"))
    return problems


def _renamable() -> dict[str, type[Any]]:
    """Return the record class of each field whose wire name can be set, by `record.field`. Path parameters cannot."""
    kinds = [cls for row in OPERATIONS.values() for cls in (row.request, row.answer)]
    in_paths = {(row.request, wire) for row in OPERATIONS.values() for wire in placeholders(row.path)}
    return {
        f"{snake(record.__name__)}.{field.name}": record
        for cls in [*kinds, *(kind.body for kind in EVENT_KINDS.values())]
        for record in records(cls)
        for field in members(record)
        if (record, field.wire) not in in_paths
    }


_OURS = frozenset({KEY_HEADER.lower(), "host", "accept", "accept-encoding", "content-type", "content-length"})


def header_problem(name: object) -> str | None:
    """Return what is wrong with the name of an additional header; None if the name is valid."""
    if not isinstance(name, str) or re.fullmatch(r"[A-Za-z][A-Za-z0-9-]{0,63}", name) is None:
        return "must be the name of a header"
    return "is a header that the client sets itself" if name.lower() in _OURS else None
