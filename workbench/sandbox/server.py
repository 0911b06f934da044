"""HTTP server of the sandbox and its controls, for clients in any language.

/v1/…                    the interface
/openapi.json            OpenAPI document of the interface
/docs/                   the same document as a web page
/_sandbox/health         200 while the server is ready; needs no key, and accepts any host name
/_sandbox/openapi.json   OpenAPI document of the controls; needs no key
/_sandbox/guide          base URL, keys and example ids; needs no key on this machine
/_sandbox/NAME           a control: POST with its arguments as a JSON object, and the full API key. The header
                         Workbench-Session-Key, a key of a tenant, limits the control to this tenant's records

To reject requests from other web pages in a browser, the server rejects other hosts and origins, and bodies that are
not declared as JSON.
"""

import asyncio
import json
import re
import secrets
from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import ExitStack, suppress
from datetime import UTC, datetime, timedelta
from functools import cached_property
from http import HTTPStatus
from ipaddress import ip_address
from itertools import islice
from pathlib import Path
from types import MappingProxyType
from typing import Any

import attrs
import orjson

from workbench.base.errors import ApiError, FileBusy, UnusableFile, UsageError
from workbench.base.remedies import word, worded_for
from workbench.base.schema import strict_json
from workbench.base.system.files import make_folder, write_file
from workbench.base.system.messages import ACTOR_HEADER, Request, Response, acting
from workbench.sandbox import service
from workbench.sandbox.context import WRONG_ARGUMENT, control_error, usage_error
from workbench.sandbox.control_records import to_json
from workbench.sandbox.controls import CONTROLS, perform
from workbench.sandbox.controls_document import controls_document
from workbench.sandbox.engine import Engine
from workbench.sandbox.extensions import ROWS
from workbench.sandbox.page import page
from workbench.sandbox.service import is_json
from workbench.sandbox.store import Members, Record, Texts
from workbench.service.interface import table
from workbench.service.interface.openapi import document

word("http", {"guide": "see /_sandbox/guide"})

CONTROL_PATH = "/_sandbox/"
HEALTH = f"{CONTROL_PATH}health"
IDENTITY = "workbench-sandbox"
"""Header of control responses that identifies the sandbox."""

SESSION_KEY = "workbench-session-key"
"""Header with a key of a tenant. A control with this header acts only on this tenant's records."""

FOREIGN = "Requests from pages of other origins are not answered"
NOT_JSON = "the content type must be application/json"

_DOCS = "/docs/"
_READING = ("GET", "HEAD")
_PREFIX = re.compile(r"(?:/[A-Za-z0-9._~-]+)+")
_PART = 200  # number of rows read while the state is locked

_CERTIFICATE_VALID = timedelta(days=398)
_JSON = {"content-type": "application/json"}
_HTML = {"content-type": "text/html; charset=utf-8"}
_NOTICE = "All people, cards and money are fictitious. The addresses are not wallets: do not send funds to them."


def is_foreign(request: Request, url: str) -> bool:
    """Return whether a web page of another origin sent the request."""
    origin = request.headers.get("origin")
    return origin is not None and origin != f"{url.partition(':')[0]}://{request.headers.get('host')}"


def refused(status: int, message: str, error: str | None = None, headers: Texts = MappingProxyType({})) -> Response:
    """Return a response with an error in the documented format. Source: Errors."""
    if status == HTTPStatus.MISDIRECTED_REQUEST:
        message += ": start the server with --host-name and this name, in Python with hosts=[…]"
    body = {"statusCode": status, "error": error or table.ERRORS[status], "message": message}
    return Response(status=status, headers={**_JSON, **headers}, body=strict_json.dumps(body))


class App:
    """HTTP application of one sandbox at one address.

    Args:
        engine: Engine of the sandbox.
        sandbox: The sandbox.
        url: URL that the application is served at.
        local: Whether only this machine can connect.
        with_new_keys: Whether random keys replace the seeded keys, which are then refused.
        forwarded: Whether to trust the headers X-Forwarded-Prefix and X-Forwarded-Proto.
    """

    def __init__(
        self,
        engine: Engine,
        sandbox: Any,
        url: str,
        local: bool,
        with_new_keys: bool = False,
        forwarded: bool = False,
    ) -> None:
        keys = [key for key, _ in engine.store.items("key")] if with_new_keys else []
        self._new_keys = {key: f"sandbox_{secrets.token_hex(16)}" for key in keys}
        self._own_keys = dict.fromkeys(keys, "replaced") | {new: key for key, new in self._new_keys.items()}
        self._engine = engine
        self.sandbox = sandbox
        self._scheme, _, rest = url.partition("://")
        self._path = "".join(rest.partition("/")[1:])  # path of this sandbox, on a server with several sandboxes
        self._local = local and not forwarded  # behind a proxy, every client would seem local
        self._forwarded = forwarded
        engine.keep_time()
        self._identity = {IDENTITY: engine.seeds.uuid("served")}

    async def handle(self, request: Request) -> Response:
        """Answer a request to the interface, its documents or the controls."""
        if is_foreign(request, self._base_url(request)):
            return refused(403, FOREIGN)
        if self._new_keys:
            headers = {name: self._with_own_key(value) for name, value in request.headers.items()}
            request = attrs.evolve(request, headers=headers)
        try:
            if request.path.startswith(CONTROL_PATH):
                with acting(request.headers.get(ACTOR_HEADER, "")):
                    return await self._control(request)
            if request.path == "/openapi.json":
                return self._describe(request, _JSON, self._openapi(request))
            if request.path == _DOCS:
                return self._describe(request, _HTML, self._page(request))
            with acting(request.headers.get(ACTOR_HEADER, "")), ExitStack() as stack:
                if self._engine.store.enter(wait=False):
                    stack.push(self._engine.store)
                    return self._engine.answer(request)
                # the store is in use: wait for it in a thread, so that the event loop is not blocked
                return await asyncio.to_thread(self._engine.answer, request)
        except UnusableFile as error:
            if isinstance(error, FileBusy):
                return refused(503, "Another program holds the sandbox's file; nothing changed. Send the request again")
            return refused(503, "The sandbox's file cannot be used; nothing changed")

    def _with_own_key(self, header: str) -> str:
        """Replace this URL's random key in a header with the sandbox's key."""
        scheme, space, key = header.rpartition(" ")  # the header contains a key alone, or a key after "Bearer"
        return scheme + space + self._own_keys.get(key, key)

    def _callers_key(self, key: str) -> str:
        """Return the key that replaces a key of the sandbox at this URL; the same key if none replaces it."""
        return self._new_keys.get(key, key)

    def _prefix(self, request: Request) -> str:
        """Return the path prefix of this sandbox, which the server and a trusted proxy determine."""
        given = (request.headers.get("x-forwarded-prefix") or "").rstrip("/") if self._forwarded else ""
        return (given if _PREFIX.fullmatch(given) else "") + self._path

    def _base_url(self, request: Request) -> str:
        """Return the URL of this sandbox with the host name that the caller used."""
        given = (request.headers.get("x-forwarded-proto") or "").partition(",")[0].strip().lower()
        scheme = given if self._forwarded and given in {"http", "https"} else self._scheme
        return f"{scheme}://{request.headers.get('host')}{self._prefix(request)}"

    def _describe(self, request: Request, headers: Texts, body: bytes) -> Response:
        if request.method not in _READING:
            return refused(405, "Method Not Allowed", headers={"allow": ", ".join(_READING)})
        return Response(status=200, headers=headers, body=body)

    def _health(self) -> bytes:
        self._engine.store.get("meta", "made")
        return b'{"status": "ok"}'

    @cached_property
    def _document(self) -> Record:
        return document(self._engine.wire_names, "", ROWS.values(), self._engine.environment.settings)

    def _openapi(self, request: Request) -> bytes:
        """Return the OpenAPI document of the interface. Its server URL is relative, for use behind a proxy."""
        server = self._prefix(request) + table.PREFIX
        controls = f"{self._base_url(request)}{CONTROL_PATH}openapi.json"  # some validators need a scheme
        linked = {"description": "Controls of this sandbox", "url": controls}
        described = {**self._document, "servers": [{"url": server}], "externalDocs": linked}
        return json.dumps(described).encode()  # ASCII only, since YAML parsers refuse some control characters

    def _page(self, request: Request) -> bytes:
        rows = (*table.OPERATIONS.values(), *ROWS.values())
        return page(rows, self._base_url(request) + table.PREFIX, self._engine.environment.converter).encode()

    async def _control(self, request: Request) -> Response:
        name = request.path.removeprefix(CONTROL_PATH)
        if name == "health":
            return self._describe(request, _JSON, self._health())
        if name == "openapi.json":
            described = controls_document(self._prefix(request) + CONTROL_PATH.rstrip("/"))
            return self._describe(request, _JSON, orjson.dumps(described))
        open_to_all = name == "guide" and request.method in _READING and self._local and request.local
        key = request.headers.get("api-key")
        if not open_to_all and key != self._engine.full_key:
            known = key is not None and self._engine.store.get("key", key) is not None
            return refused(403, "Controls need the full key") if known else refused(401, table.UNAUTHORIZED.message)
        if name not in CONTROLS and name != "drain":
            return refused(404, "Control not found")
        allowed = (*_READING, "POST") if name == "guide" else ("POST",)
        if request.method not in allowed:
            return refused(405, "Method Not Allowed", headers={"allow": ", ".join(allowed)})
        if request.body and not is_json(request):
            return refused(415, NOT_JSON)
        try:
            arguments = strict_json.loads(request.body) if request.body else {}
        except strict_json.NotJson as error:
            return refused(400, f"the body cannot be read: {error}")
        if not isinstance(arguments, Mapping):
            return refused(400, "the arguments must be a JSON object")
        with worded_for("http"):
            # The control runs in a thread, because it may wait until deliveries are sent.
            session_key = request.headers.get(SESSION_KEY) or self._engine.full_key
            return await asyncio.to_thread(self._perform, name, arguments, self._base_url(request), session_key)

    def _perform(self, name: str, arguments: Members, base_url: str, session_key: str) -> Response:
        sandbox, lists = self.sandbox._for_key(session_key), list[Iterable[Any]]()

        if name == "register_endpoint" and arguments.get("signing_key") is None:
            arguments = {**arguments, "signing_key": self._callers_key(session_key)}  # the receiver knows this key

        def collect_later(rows: Iterable[Any]) -> list[Any]:
            lists.append(rows)
            return []

        sandbox._collect = collect_later
        try:
            result = self._drain(arguments) if name == "drain" else to_json(perform(sandbox, name, arguments))
            body = self._listed(iter(lists[0])) if lists else b""
        except UsageError as error:
            return refused(400, str(error).removeprefix(f"{name}: "), WRONG_ARGUMENT, self._identity)
        except ApiError as error:
            return Response(status=error.status, headers=_JSON | self._identity, body=service.error_body(error))
        if name == "guide":
            result["base_url"] = base_url + table.PREFIX
            result["api_keys"] = {name: self._callers_key(key) for name, key in result["api_keys"].items()}
        return Response(status=200, headers=_JSON | self._identity, body=body or strict_json.dumps(result))

    def _listed(self, rows: Iterator[Any]) -> bytes:
        """Return rows as a JSON list. The state is locked only for each chunk, so other requests run between chunks."""
        parts: list[bytes] = []
        while True:
            with self._engine.store:
                part = list(islice(rows, _PART))
            if not part:
                return b"[" + b",".join(parts) + b"]"
            parts.append(strict_json.dumps(to_json(part))[1:-1])

    def _drain(self, arguments: Members) -> Any:
        after, key = arguments.get("after", 0), arguments.get("api_key")
        if type(after) is not int or not isinstance(key, str | None):
            raise control_error("drain", usage_error("after must be a number"))
        key = key or self._callers_key(self._engine.full_key)
        due, last = self.sandbox._drain(after, self._own_keys.get(key, key), key)
        return {"deliveries": [[number, headers, body.decode()] for number, headers, body in due], "last": last}


def introduction(sandbox: Any, url: str) -> list[str]:
    """Return the text to print about a served sandbox: base URL, keys with their permissions, and a disclaimer.

    An API key from the caller, and the keys derived from it, are never logged.
    """
    keys = sandbox.guide()["api_keys"]
    width = max(map(len, keys))
    listed = [f"  {name:<{width}}  {key}" for name, key in keys.items()]
    if sandbox._engine.seeds.full_key:
        listed = ["  the full key is the one you passed; the guide lists all keys"]
    return [
        (
            f"Card issuing sandbox at {url}{table.PREFIX} ({sandbox._environment}, behavior {sandbox.behavior}, seed "
            f"{sandbox.seed})"
        ),
        "",
        "API keys for the header Api-Key:",
        *listed,
        "",
        f"Guide: {url}{CONTROL_PATH}guide   OpenAPI: {url}/openapi.json   Documentation: {url}{_DOCS}",
        f"Assumed routes besides the twelve operations: {', '.join(row.path for row in ROWS.values())}",
        _NOTICE,
        "Press Ctrl-C to stop.",
    ]


def own_fingerprint(certfile: Path) -> str:
    """Return the SHA-256 fingerprint of a self-signed certificate as hex; empty for any other certificate."""
    from cryptography import x509
    from cryptography.hazmat.primitives import hashes

    try:
        certificate = x509.load_pem_x509_certificate(certfile.read_bytes())
    except (OSError, ValueError):
        return ""  # `serve` itself reports the problem
    return certificate.fingerprint(hashes.SHA256()).hex() if certificate.issuer == certificate.subject else ""


def self_signed(certfile: Path, keyfile: Path, names: Collection[str]) -> str:
    """Create a self-signed certificate and private key unless a valid pair exists; return the SHA-256 fingerprint.

    Args:
        certfile: File for the certificate. Clients pass it as `ca_file` to trust it.
        keyfile: File for the key, readable only by its owner.
        names: Host names and addresses that the certificate is valid for.
    """
    from cryptography import x509
    from cryptography.hazmat.primitives import hashes, serialization
    from cryptography.hazmat.primitives.asymmetric import ec

    def general(name: str) -> x509.GeneralName:
        try:
            return x509.IPAddress(ip_address(name.strip("[]")))
        except ValueError:
            return x509.DNSName(name)

    def fingerprint(certificate: x509.Certificate) -> str:
        return certificate.fingerprint(hashes.SHA256()).hex(":").upper()

    now = datetime.now(UTC)
    wanted = x509.SubjectAlternativeName([general(name) for name in sorted(set(names))])
    with suppress(
        FileNotFoundError, ValueError, TypeError, x509.ExtensionNotFound
    ):  # the files do not exist, or were not created by the workbench
        existing = x509.load_pem_x509_certificate(certfile.read_bytes())
        its_names = existing.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
        its_key = serialization.load_pem_private_key(keyfile.read_bytes(), None).public_key()
        if its_names == wanted and existing.not_valid_after_utc > now and existing.public_key() == its_key:
            return fingerprint(existing)
    key = ec.generate_private_key(ec.SECP256R1())
    identifier = x509.SubjectKeyIdentifier.from_public_key(key.public_key())
    subject = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "card issuing sandbox")])
    usage = x509.KeyUsage(
        digital_signature=True,
        key_cert_sign=True,
        crl_sign=True,
        content_commitment=False,
        key_encipherment=False,
        data_encipherment=False,
        key_agreement=False,
        encipher_only=False,
        decipher_only=False,
    )
    until = now + _CERTIFICATE_VALID
    signed = (
        x509.CertificateBuilder(subject, subject, key.public_key(), x509.random_serial_number(), now, until)
        .add_extension(wanted, critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .add_extension(usage, critical=True)
        .add_extension(identifier, critical=False)
        .add_extension(x509.AuthorityKeyIdentifier.from_issuer_subject_key_identifier(identifier), critical=False)
        .sign(key, hashes.SHA256())
    )
    make_folder(certfile.parent)
    plain = serialization.NoEncryption()
    pem = key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, plain)
    write_file(keyfile, pem)
    write_file(certfile, signed.public_bytes(serialization.Encoding.PEM), private=False)
    return fingerprint(signed)
