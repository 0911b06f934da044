"""Profiles: where a service is, what it is, what is allowed there. From a TOML file and WORKBENCH_* variables.

    [profiles.acme-test]
    base_url = "https://api.example.com/v1"
    environment = "sandbox"                  # or "production"
    timeout = 30
    wire_names."simulate_authorization.decline_reason" = "declineReason"
    http = { trust_env = true }              # proxies and certificates of the environment
    limits = { reads_per_second = 10, writes_per_second = 5, amount = 100_000 }

The file never holds a key. A profile without `base_url` opens an embedded sandbox with the settings of its `sandbox` table.
"""

import getpass
import os
import re
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import attrs

from workbench.client.base import client_problems
from workbench.client.guards import Limits
from workbench.client.journal import Journal
from workbench.client.keys import APPLICATION, Key, pin, state_path
from workbench.client.options import (
    ADDRESSES,
    COUNT,
    FLAG,
    RATE,
    SECONDS,
    TABLE,
    TEXT,
    BaseUrl,
    Rule,
    base_url,
    base_url_or_problem,
    checked,
)
from workbench.errors import InvalidProfile, Problem, hide_arguments, visible

RATES = {"reads_per_second": 10.0, "writes_per_second": 5.0}
"""Rate limits are not shown in the document; these are for real services, and a profile changes them."""

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,63}")
_KEYLIKE = re.compile(r"(?i)key$|token|secret|password|credential")


@attrs.frozen(kw_only=True)
class Profile:
    """A service as this user has set it up."""

    name: str
    base_url: str | None = None
    environment: str = "sandbox"
    timeout: float = 30.0
    ca_file: str | None = None
    journal: str | None = None
    key_variable: str | None = None
    forget_key_variable: bool = False
    idempotency_header: str | None = None
    wire_names: Mapping[str, str] = attrs.field(factory=dict)
    sandbox: Mapping[str, Any] = attrs.field(factory=dict)
    limits: Limits = attrs.field(factory=Limits)
    http: Mapping[str, Any] = attrs.field(factory=dict, repr=False)


def config_path() -> Path:
    """Return where profiles are read from: `WORKBENCH_CONFIG`, or the user's own place for it."""
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
        InvalidProfile: It cannot be used; all problems are named.
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


_RULES: Mapping[str, Rule] = {
    "base_url": TEXT, "environment": TEXT, "timeout": SECONDS, "ca_file": TEXT, "journal": TEXT,
    "key_variable": TEXT, "forget_key_variable": FLAG, "idempotency_header": TEXT, "wire_names": TABLE,
    "sandbox": TABLE, "limits": TABLE, "http": TABLE,
}  # fmt: skip
_LIMITS: Mapping[str, Rule] = {
    "reads_per_second": RATE, "writes_per_second": RATE, "amount": COUNT, "native_amount": COUNT, "rows": COUNT,
    "sum": COUNT, "recipients": ADDRESSES,
}  # fmt: skip


def _read(name: str, table: dict[str, Any], path: Path, problems: list[Problem]) -> Profile:
    where = f"profiles.{name}."
    for variable, key in (("WORKBENCH_BASE_URL", "base_url"), ("WORKBENCH_ENVIRONMENT", "environment")):
        if os.environ.get(variable):
            table[key] = os.environ[variable]
    for key in [key for key in table if key not in _RULES and _KEYLIKE.search(key)]:
        table.pop(key)
        problems.append(_key_in_file(where + visible(key, 60), name, path))
    table = checked(table, _RULES, where, problems)
    if (
        "base_url" not in table
        and not table.get("sandbox")
        and not any(one.path == f"{where}base_url" for one in problems)
    ):
        words = "is missing; a profile without it needs a [sandbox] table"
        problems.append(Problem(f"{where}base_url", "required", words))
    shared = ("base_url", "environment", "idempotency_header", "wire_names", "http")
    found = client_problems(**{key: table[key] for key in shared if key in table})
    problems.extend(attrs.evolve(problem, path=where + problem.path) for problem in found)
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
        where, "key_in_file", f"looks like a key, and keys are never read from a file; use {key_variable(name)}, "
        f"the keyring or the prompt.{loose}",
    )  # fmt: skip


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
        pin(key.fingerprint, url.host, profile.environment)
    path = Path(profile.journal) if profile.journal else state_path() / f"journal-{profile.name}.db"
    return {
        "base_url": profile.base_url, "api_key": key, "environment": profile.environment, "timeout": profile.timeout,
        "ca_file": profile.ca_file, "wire_names": profile.wire_names, "limits": profile.limits,
        "idempotency_header": profile.idempotency_header, "journal": Journal(path),
        "http": profile.http,
    }  # fmt: skip


@hide_arguments
def find_key(profile: Profile) -> Key:
    """Return the key of a profile: from the environment, the keyring, or a hidden prompt. Never from a file.

    Raises:
        InvalidProfile: There is none, or it cannot be sent.
    """
    variables = [name for name in (profile.key_variable, key_variable(profile.name), "WORKBENCH_API_KEY") if name]
    for variable in variables:
        if os.environ.get(variable):
            key = Key(os.environ[variable])
            if profile.forget_key_variable:  # so that child processes and `%env` do not have it
                del os.environ[variable]
            return key
    stored = _from_keyring(profile.name)
    if stored is not None:
        return stored
    if can_prompt():
        return Key(getpass.getpass(f"API key of {profile.name} ({profile.environment}): ").strip())
    words = (
        f"is missing for profile {profile.name!r}; set {' or '.join(variables)}, or store it in the keyring as "
        f"{APPLICATION} / {profile.name}"
    )
    raise InvalidProfile((Problem("api_key", "required", words),))


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
    shell = getattr(sys.modules.get("IPython"), "get_ipython", lambda: None)()
    return bool(getattr(getattr(shell, "kernel", None), "_allow_stdin", False))
