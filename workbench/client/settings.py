"""Settings of a client: the base URL, options of its connections, and profiles, which say where a service is, what it
is and what is allowed there, from a TOML file and WORKBENCH_* variables.

    [profiles.acme-test]
    base_url = "https://api.example.com/v1"
    environment = "sandbox"                  # or "production"
    timeout = 30
    wire_names."simulate_authorization.decline_reason" = "declineReason"
    http = { trust_env = true }              # proxies and certificates of the environment
    limits = { reads_per_second = 10, writes_per_second = 5, amount = 100_000 }

A base URL has one spelling: `https` unless it stays on this machine, without user, password, query or fragment. The
file never holds a key. A profile without `base_url` opens an embedded sandbox with the settings of its `sandbox` table.
"""

import getpass
import importlib.util
import ipaddress
import os
import re
import sys
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import attrs

from workbench.client.guards import Limits
from workbench.client.journal import Journal
from workbench.client.keys import APPLICATION, Key, key_problem, state_path
from workbench.client.requests import header_problem, wire_name_problems
from workbench.errors import InvalidProfile, Problem, UsageError, hide_arguments, visible
from workbench.interface.table import PREFIX
from workbench.system.progress import ipython_shell

RATES = {"reads_per_second": 10.0, "writes_per_second": 5.0}
"""Rate limits are not shown in the document; these are for real services, and a profile changes them."""

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,63}")
_KEYLIKE = re.compile(r"(?i)key$|token|secret|password|credential")


# the base URL


@attrs.frozen
class BaseUrl:
    """A base URL: `https://host[:port]/v1`."""

    scheme: str
    host: str  # with the port where it is not the scheme's own
    path: str
    local: bool  # whether it stays on this machine

    def __str__(self) -> str:
        return f"{self.scheme}://{self.host}{self.path}"


def is_loopback(host: str) -> bool:
    """Return whether a host name or address is this machine."""
    if host == "localhost" or host.endswith(".localhost"):
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


@hide_arguments
def base_url(text: str) -> BaseUrl:
    """Read a base URL; a missing `/v1` is added, a trailing slash removed.

    Raises:
        InvalidProfile: The URL cannot be used; the message says what is allowed.
    """
    url = base_url_or_problem(text)
    if isinstance(url, str):
        raise UsageError([Problem("base_url", "base_url", url)])
    return url


def base_url_or_problem(text: object) -> BaseUrl | str:
    """Return the base URL, or what is wrong with it."""
    if not isinstance(text, str) or not text.strip():
        return "is missing; it is like https://api.example.com/v1"
    if not text.isascii() or not text.isprintable() or " " in text or "\\" in text:
        return "holds characters that do not belong in a URL"
    try:
        parts = urlsplit(text)
        port, host = parts.port, (parts.hostname or "").rstrip(".")
    except ValueError:
        return "is not a URL; it is like https://api.example.com/v1"
    if parts.scheme not in {"https", "http"} or not host:
        return "must begin with https:// and a host, like https://api.example.com/v1"
    if "@" in parts.netloc:
        return "must not hold a user or a password; the key goes into api_key"
    if parts.query or parts.fragment or "?" in text or "#" in text:
        return "must not have a query or a fragment"
    named = f"[{host}]" if ":" in host else host
    where = named if port in {None, {"https": 443, "http": 80}[parts.scheme]} else f"{named}:{port}"
    path = "/" + "/".join(segment for segment in parts.path.split("/") if segment)
    if any(segment in {".", ".."} or "%" in segment for segment in path.split("/")):
        return "must have a plain path, like /v1"
    if path.endswith(f"{PREFIX}{PREFIX}"):
        return f"ends in {PREFIX} twice; right is {parts.scheme}://{where}{path.removesuffix(PREFIX)}"
    path = path if path.endswith(PREFIX) else f"{path.rstrip('/')}{PREFIX}"
    if parts.scheme == "http" and not is_loopback(host):
        return f"would send the key unprotected; right is https://{visible(where)}{path}"
    return BaseUrl(parts.scheme, where, path, is_loopback(host))


# options, and what they may be


Rule = Mapping[str, Any]
"""Rule for a value, as a function and as text; stored in the metadata of a field."""


def _rule(fits: Callable[[Any], object], message: str) -> Rule:
    return {"fits": fits, "words": message}


_TEXT = _rule(lambda value: isinstance(value, str) and value, "must be text")
_FLAG = _rule(lambda value: isinstance(value, bool), "must be true or false")
_TABLE = _rule(lambda value: isinstance(value, dict), "must be a table")
_RATE = _rule(lambda value: _is_number(value), "must be a number above 0")
_COUNT = _rule(lambda value: type(value) is int and value >= 0, "must be a whole number")
_SECONDS = _rule(
    lambda value: _is_number(value) and value <= 600, "must be a number of seconds, more than 0 and at most 600"
)
_ADDRESSES = _rule(
    lambda value: isinstance(value, list) and all(isinstance(item, str) for item in value),
    "must be a list of addresses",
)
_COMMAND_SECONDS = 30
_COMMAND = _rule(
    lambda value: isinstance(value, list) and value != [] and all(isinstance(item, str) for item in value),
    "must be a list of texts: a program and its arguments",
)
_POSITIVE = _rule(lambda value: type(value) is int and value > 0, "must be a whole number above 0")
_FILE = _rule(lambda value: isinstance(value, str | Path) and Path(value).is_file(), "must be the path of a file")
_FUNCTION = _rule(callable, "must be a function")
_URL = _rule(
    lambda value: isinstance(value, str) and value.startswith(("http://", "https://")),
    "must be a URL, as http://proxy.example.com:3128",
)
_HTTP2 = _rule(
    lambda value: value is False or (value is True and importlib.util.find_spec("h2") is not None),
    "must be true or false, and needs the package h2; run: pip install h2",
)
_LIMITS: Mapping[str, Rule] = {
    "reads_per_second": _RATE, "writes_per_second": _RATE, "amount": _COUNT, "native_amount": _COUNT, "rows": _COUNT,
    "sum": _COUNT, "recipients": _ADDRESSES,
}  # fmt: skip


def _rules(cls: type[Any]) -> Mapping[str, Rule]:
    return {field.name: field.metadata for field in attrs.fields(cls) if field.metadata}


@attrs.frozen(kw_only=True)
class HttpOptions:
    """Options of the connections to a service.

    Attributes:
        trust_env: Use HTTPS_PROXY, ALL_PROXY, NO_PROXY, SSL_CERT_FILE and SSL_CERT_DIR of the environment.
        proxy: URL of a proxy, as "http://proxy.example.com:3128"; the TLS connection goes through it unread.
        http2: Offer HTTP/2; it needs the package h2.
        max_connections: Connections at once.
        max_keepalive_connections: Idle connections that are kept.
        keepalive_expiry: Seconds for which an idle connection is kept.
        connect_timeout: Seconds for making a connection; None allows those of the call.
        retries: How often a read without an answer is sent again.
        client_cert_file: File of the certificate that this client shows to the service (mutual TLS), as PEM.
        client_key_file: File of its private key, unencrypted; None if the certificate's file holds it too.
        on_request: Called with each `httpx.Request` before the key is added to it; it may add headers.
        on_response: Called with each `httpx.Response`, its body not yet read.
    """

    trust_env: bool = attrs.field(default=False, metadata=_FLAG)
    proxy: str | None = attrs.field(default=None, repr=False, metadata=_URL)  # may hold a password
    http2: bool = attrs.field(default=False, metadata=_HTTP2)
    max_connections: int = attrs.field(default=100, metadata=_POSITIVE)
    max_keepalive_connections: int = attrs.field(default=20, metadata=_POSITIVE)
    keepalive_expiry: float = attrs.field(default=5.0, metadata=_SECONDS)
    connect_timeout: float | None = attrs.field(default=None, metadata=_SECONDS)
    retries: int = attrs.field(default=2, metadata=_COUNT)
    client_cert_file: str | None = attrs.field(default=None, metadata=_FILE)
    client_key_file: str | None = attrs.field(default=None, metadata=_FILE)
    on_request: Callable[[Any], object] | None = attrs.field(default=None, metadata=_FUNCTION)
    on_response: Callable[[Any], object] | None = attrs.field(default=None, metadata=_FUNCTION)

    def proxy_for(self, scheme: str, host: str) -> str | None:
        """Return the URL of the proxy for a host; None if its connections are direct."""
        if self.proxy is not None or not self.trust_env:
            return self.proxy
        from urllib.request import getproxies_environment, proxy_bypass_environment  # type: ignore[attr-defined]

        proxies = getproxies_environment()
        if proxy_bypass_environment(host, proxies):
            return None
        return proxies.get(scheme) or proxies.get("all")


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and value > 0


def checked(table: Mapping[str, Any], rules: Mapping[str, Rule], where: str, problems: list[Problem]) -> dict[str, Any]:
    """Return the members of a table that follow their rule; say what is wrong with the others."""
    right = {}
    for key, value in table.items():
        rule = rules.get(key)
        if rule is None:
            text = f"is not known; there are {', '.join(rules)}"
            problems.append(Problem(where + visible(key, 60), "unknown", text))
        elif not rule["fits"](value):
            problems.append(Problem(where + key, "type", rule["words"]))
        else:
            right[key] = value
    return right


def unused_proxy(options: HttpOptions) -> str | None:
    """Return the name of a variable that names a proxy which is not used; None if there is none."""
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
    **_: object,
) -> list[Problem]:
    """Return all problems of a client's arguments; arguments that are not given are valid."""
    problems = []
    if environment not in ("sandbox", "production"):
        problems.append(Problem("environment", "enum", 'must be "sandbox" or "production"'))
    if base_url is not None and isinstance(url := base_url_or_problem(base_url), str):
        problems.append(Problem("base_url", "base_url", url))
    if timeout is not None and not _is_number(timeout):
        problems.append(Problem("timeout", "minimum", "must be a number of seconds, more than 0"))
    if limits is not None and not isinstance(limits, Limits):
        problems.append(Problem("limits", "type", "must be Limits(…), as Limits(amount=100_000)"))
    if idempotency_header is not None and (wrong := header_problem(idempotency_header)):
        problems.append(Problem("idempotency_header", "header", wrong))
    if isinstance(http, Mapping):
        checked(http, _rules(HttpOptions), "http.", problems)
    elif http is not None:
        problems.append(Problem("http", "type", "must be a mapping of options, as {'trust_env': True}"))
    if wire_names is not None and not isinstance(wire_names, Mapping):
        problems.append(Problem("wire_names", "type", "must be a mapping of names"))
    else:
        problems += wire_name_problems(wire_names or {})
    if not isinstance(journal, Journal | str | Path | None) and journal is not False:
        problems.append(Problem("journal", "type", "must be a Journal, a path or False"))
    if journal is False and environment == "production":
        problems.append(Problem("journal", "required", "is needed in production"))
    return problems


# profiles


@attrs.frozen(kw_only=True)
class Profile:
    """Connection settings of one service, from the profiles file."""

    name: str
    base_url: str | None = attrs.field(default=None, metadata=_TEXT)
    environment: str = attrs.field(default="sandbox", metadata=_TEXT)
    timeout: float = attrs.field(default=30.0, metadata=_SECONDS)
    ca_file: str | None = attrs.field(default=None, metadata=_TEXT)
    journal: str | None = attrs.field(default=None, metadata=_TEXT)
    key_variable: str | None = attrs.field(default=None, metadata=_TEXT)
    forget_key_variable: bool = attrs.field(default=False, metadata=_FLAG)
    key_command: Sequence[str] | None = attrs.field(default=None, metadata=_COMMAND)
    idempotency_header: str | None = attrs.field(default=None, metadata=_TEXT)
    wire_names: Mapping[str, str] = attrs.field(factory=dict, metadata=_TABLE)
    sandbox: Mapping[str, Any] = attrs.field(factory=dict, metadata=_TABLE)
    limits: Limits = attrs.field(factory=Limits, metadata=_TABLE)
    http: Mapping[str, Any] = attrs.field(factory=dict, repr=False, metadata=_TABLE)


def config_path() -> Path:
    """Return the path of the profiles file: `WORKBENCH_CONFIG`, or the user's configuration folder."""
    chosen = os.environ.get("WORKBENCH_CONFIG")
    if chosen:
        return Path(chosen)
    from platformdirs import user_config_path

    return user_config_path(APPLICATION, appauthor=False) / "profiles.toml"


def profile_names() -> tuple[str, ...]:
    """Return the names of the profiles in the file."""
    return tuple(_tables(config_path(), []))


@hide_arguments
def open_profile(name: str | None = None) -> Profile:
    """Read one profile, by its name or by `WORKBENCH_PROFILE`.

    Raises:
        InvalidProfile: The profile cannot be used; the message lists all problems.
    """
    name = name or os.environ.get("WORKBENCH_PROFILE") or "default"
    problems: list[Problem] = []
    path = config_path()
    if not _NAME.fullmatch(name):
        raise InvalidProfile("invalid profile name (allowed: letters, digits, - and _)")
    tables = _tables(path, problems)
    table = tables.get(name)
    given_url = os.environ.get("WORKBENCH_BASE_URL")
    if table is None and problems:
        raise InvalidProfile(problems)
    if table is None and not given_url:
        known = f" (known: {', '.join(tables)})" if tables else ""
        raise InvalidProfile(f"no profile of that name in {path}{known}")  # it may be a key in the wrong place
    profile = _read(name, dict(table or {}), path, problems)
    if problems:
        raise InvalidProfile(problems)
    return profile


def _tables(path: Path, problems: list[Problem]) -> Mapping[str, Mapping[str, Any]]:
    import tomllib  # not where no profile is read

    try:
        whole = tomllib.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return {}
    except OSError as error:
        problems.append(Problem("", "file", f"{path} cannot be read ({error.strerror})"))
        return {}
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        problems.append(Problem("", "toml", f"{path} is not TOML: {visible(str(error), 120)}"))
        return {}
    except (ValueError, RecursionError):
        problems.append(Problem("", "toml", f"{path} has a number of too many digits, or is nested too deeply"))
        return {}
    tables = whole.pop("profiles", {})
    problems.extend(
        Problem(visible(name, 60), "unknown", f"is not known in {path}; profiles stand under [profiles.name]")
        for name in whole
    )
    if not isinstance(tables, dict) or not all(isinstance(table, dict) for table in tables.values()):
        problems.append(Problem("profiles", "type", f"must be a table of tables in {path}"))
        return {}
    return tables


def _read(name: str, table: dict[str, Any], path: Path, problems: list[Problem]) -> Profile:
    where, rules = f"profiles.{name}.", _rules(Profile)
    for variable, key in (("WORKBENCH_BASE_URL", "base_url"), ("WORKBENCH_ENVIRONMENT", "environment")):
        if os.environ.get(variable):
            table[key] = os.environ[variable]
    for key in [key for key in table if key not in rules and _KEYLIKE.search(key)]:
        table.pop(key)
        problems.append(_key_in_file(where + visible(key, 60), name, path))
    table = checked(table, rules, where, problems)
    if (
        "base_url" not in table
        and not table.get("sandbox")
        and not any(problem.path == f"{where}base_url" for problem in problems)
    ):
        message = "is missing; a profile without it needs a [sandbox] table"
        problems.append(Problem(f"{where}base_url", "required", message))
    shared = ("base_url", "environment", "idempotency_header", "wire_names", "http")
    shared_problems = client_problems(**{key: table[key] for key in shared if key in table})
    problems.extend(attrs.evolve(problem, path=where + problem.path) for problem in shared_problems)
    if "ca_file" in table and not Path(table["ca_file"]).is_file():
        problems.append(Problem(f"{where}ca_file", "file", "is not a file"))
    url = base_url_or_problem(table.get("base_url"))
    limits = checked(table.get("limits", {}), _LIMITS, f"{where}limits.", problems)
    if "recipients" in limits:
        limits["recipients"] = tuple(limits["recipients"])
    rates = RATES if isinstance(url, BaseUrl) and not url.local else {}
    return Profile(name=name, **{**table, "limits": Limits(**{**rates, **limits})})


def _key_in_file(where: str, name: str, path: Path) -> Problem:
    loose = ""
    try:
        if os.name == "posix" and path.stat().st_mode & 0o077:
            loose = f" Others can read this file: chmod 600 {path}, and have the key replaced."
    except OSError:
        loose = ""
    return Problem(
        where,
        "key_in_file",
        f"looks like a key, and keys are never read from a file; use {key_variable(name)}, "
        f"the keyring or the prompt.{loose}",
    )


def key_variable(profile: str) -> str:
    """Return the variable that a profile's key is read from."""
    return f"WORKBENCH_{re.sub('[^A-Z0-9]', '_', profile.upper())}_API_KEY"


@hide_arguments
def client_settings(profile: Profile, api_key: str | Key | Callable[[], str] | None = None) -> dict[str, Any]:
    """Return the arguments of a client for a profile; its key is found, and compared with what it was used with before.

    Args:
        api_key: The key, or a function that fetches it, as from a vault; None looks for it.
    """
    if profile.base_url is None:
        raise InvalidProfile(f"profile {profile.name!r} names no service; connect({profile.name!r}) opens its sandbox")
    url = base_url(profile.base_url)
    key = find_key(profile) if api_key is None else Key.of(api_key)
    if not url.local:
        key.pin(url.host, profile.environment)
    path = Path(profile.journal) if profile.journal else state_path() / f"journal-{profile.name}.db"
    return {
        "base_url": profile.base_url,
        "api_key": key,
        "environment": profile.environment,
        "timeout": profile.timeout,
        "ca_file": profile.ca_file,
        "wire_names": profile.wire_names,
        "limits": profile.limits,
        "idempotency_header": profile.idempotency_header,
        "journal": Journal(path),
        "http": profile.http,
    }


@hide_arguments
def find_key(profile: Profile) -> Key:
    """Return the key of a profile: from the environment, its command, the keyring, or a hidden prompt. Never from a
    file.

    Raises:
        InvalidProfile: No key was found, or it cannot be sent.
    """
    variables = _key_variables(profile)
    for variable in variables:
        if os.environ.get(variable):
            key = Key(os.environ[variable])
            if profile.forget_key_variable:  # so that child processes and `%env` do not have it
                del os.environ[variable]
            return key
    if profile.key_command:
        return Key.of(partial(_from_command, profile.key_command))
    stored = _from_keyring(profile.name)
    if stored is not None:
        return stored
    if can_prompt():
        return Key(getpass.getpass(f"API key of {profile.name} ({profile.environment}): ").strip())
    text = (
        f"is missing for profile {profile.name!r}; set {' or '.join(variables)}, or store it in the keyring as "
        f"{APPLICATION} / {profile.name}"
    )
    raise InvalidProfile((Problem("api_key", "required", text),))


def key_source(profile: Profile) -> str:
    """Return where the key of a profile comes from. No command is run for it."""
    variables = _key_variables(profile)
    if variable := next((name for name in variables if os.environ.get(name)), None):
        return f"in {variable}"
    if profile.key_command:
        return f"from the command {profile.key_command[0]}"
    if _from_keyring(profile.name) is not None:
        return "in the keyring"
    return f"missing: neither in {variables[0]} nor in the keyring"


def _key_variables(profile: Profile) -> list[str]:
    return [name for name in (profile.key_variable, key_variable(profile.name), "WORKBENCH_API_KEY") if name]


def _from_command(command: Sequence[str]) -> str:
    """Return the key that a program prints, as `op`, `pass` or `vault` do; there is no shell, and nothing of it is
    shown.

    Raises:
        InvalidProfile: The command cannot be run, fails, takes too long, or prints no key.
    """
    import subprocess

    try:
        done = subprocess.run(
            list(command),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=_COMMAND_SECONDS,
            check=True,
        )
        key = done.stdout.strip()
        if key_problem(key) is None:
            return key
        problem = "did not print a key"
    except subprocess.TimeoutExpired:
        problem = f"took longer than {_COMMAND_SECONDS} seconds"
    except subprocess.CalledProcessError as error:
        problem = f"ended with status {error.returncode}"
    except (OSError, ValueError) as error:
        problem = f"cannot be run: {type(error).__name__}"
    raise InvalidProfile((Problem("key_command", "command", problem),))


def _from_keyring(name: str) -> Key | None:
    try:
        import keyring
    except ImportError:
        return None
    try:
        value = keyring.get_password(APPLICATION, name)
    except Exception:  # noqa: BLE001 - a machine without a usable keyring raises errors of many kinds, and has no key
        return None
    return Key(value) if value else None


def can_prompt() -> bool:
    """Return whether a hidden prompt would reach a person: at a terminal, or in a notebook run by hand."""
    if sys.stdin is not None and sys.stdin.isatty():
        return True
    shell = ipython_shell()
    return bool(getattr(getattr(shell, "kernel", None), "_allow_stdin", False))
