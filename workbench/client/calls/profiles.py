"""Profiles: address, environment and limits of a service, from a TOML file and WORKBENCH_* variables.

    [profiles.acme-test]
    base_url = "https://api.example.com/v1"
    environment = "sandbox"                  # or "production"
    timeout = 30
    wire_names."simulate_authorization.decline_reason" = "declineReason"
    http = { trust_env = true }              # proxies and certificates of the environment
    limits = { reads_per_second = 10, writes_per_second = 5, amount = 100_000 }

A key in the file is refused. A profile without `base_url` opens an embedded sandbox with the settings of its `sandbox`
table.
"""

import os
import re
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

import attrs

from workbench.base.arguments import hide_arguments
from workbench.base.errors import InvalidProfile, Problem, visible
from workbench.base.keys import Key
from workbench.client.calls.base_url import BaseUrl, base_url, base_url_or_problem
from workbench.client.calls.guards import Limits
from workbench.client.calls.journal import Journal
from workbench.client.calls.key_sources import find_key, key_variable
from workbench.client.calls.keys import or_nowhere, pin, state_path
from workbench.client.calls.options import LIMITS, Profile, checked, client_problems, rules_of

RATES = {"reads_per_second": 10.0, "writes_per_second": 5.0}
"""Default rate limits for real services. The document states none; a profile can change them."""

# An error shows an unknown name only within these limits, because the name may be a misplaced key.
_LONGEST_SHOWN, _MAX_DIGITS = 24, 4
_NAME = r"[A-Za-z0-9][A-Za-z0-9_-]{0,63}"
_KEYLIKE = r"(?i)key$|token|secret|password|credential"


def config_path() -> Path:
    """Return the path of the profiles file: `WORKBENCH_CONFIG`, or the user's configuration folder."""
    chosen = os.environ.get("WORKBENCH_CONFIG")
    if chosen:
        return Path(chosen)
    from platformdirs import user_config_path

    return or_nowhere(user_config_path) / "profiles.toml"


def profile_names() -> tuple[str, ...]:
    """Return the names of the profiles in the file."""
    return tuple(_tables(config_path(), []))


@hide_arguments
def open_profile(name: str | None = None) -> Profile:
    """Read the named profile, or the profile that `WORKBENCH_PROFILE` names.

    Raises:
        InvalidProfile: The profile cannot be used; the message lists all problems.
    """
    name = name or os.environ.get("WORKBENCH_PROFILE") or "default"
    problems: list[Problem] = []
    path = config_path()
    if not re.fullmatch(_NAME, name):
        raise InvalidProfile("invalid profile name (allowed: letters, digits, - and _)")
    tables = _tables(path, problems)
    table = tables.get(name)
    given_url = os.environ.get("WORKBENCH_BASE_URL")
    if table is None and problems:
        raise InvalidProfile(problems)
    if table is None and not given_url:
        known = f" (known: {', '.join(tables)})" if tables else ""
        source = "WORKBENCH_PROFILE: " if name == os.environ.get("WORKBENCH_PROFILE") else ""
        like_a_key = len(name) > _LONGEST_SHOWN or sum(map(str.isdigit, name)) >= _MAX_DIGITS
        named = "such profile" if like_a_key else f"profile {name!r}"
        raise InvalidProfile(f"{source}no {named} in {path}{known}")
    profile = _read(name, dict(table or {}), path, problems)
    if problems:
        raise InvalidProfile(problems)
    return profile


def _tables(path: Path, problems: list[Problem]) -> Mapping[str, Mapping[str, Any]]:
    from workbench.base.system import toml  # imported late, since only profiles need it

    try:
        whole = toml.load(path)
    except (FileNotFoundError, NotADirectoryError):
        return {}
    except OSError as error:
        problems.append(Problem("", "file", f"{path} cannot be read ({error.strerror})"))
        return {}
    except toml.NotToml as error:
        problems.append(Problem("", "toml", f"{path} is not TOML: {visible(str(error), 120)}"))
        return {}
    tables = whole.pop("profiles", {})
    problems.extend(
        Problem(visible(name, 60), "unknown", f"is unknown in {path}; profiles are tables [profiles.NAME]")
        for name in whole
    )
    if not isinstance(tables, dict) or not all(isinstance(table, dict) for table in tables.values()):
        problems.append(Problem("profiles", "type", f"must be a table of tables in {path}"))
        return {}
    return tables


def _read(name: str, table: dict[str, Any], path: Path, problems: list[Problem]) -> Profile:
    where, rules = f"profiles.{name}.", rules_of(Profile)
    for variable, key in (("WORKBENCH_BASE_URL", "base_url"), ("WORKBENCH_ENVIRONMENT", "environment")):
        if os.environ.get(variable):
            table[key] = os.environ[variable]
    for key in [key for key in table if key not in rules and re.search(_KEYLIKE, key)]:
        table.pop(key)
        problems.append(_key_in_file(where + visible(key, 60), name, path))
    _place(table, _PATHS, path.parent)
    for inner, names in (("http", _HTTP_PATHS), ("sandbox", ("path",))):
        if isinstance(table.get(inner), dict):
            table[inner] = dict(table[inner])
            _place(table[inner], names, path.parent)
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
    limits = checked(table.get("limits", {}), LIMITS, f"{where}limits.", problems)
    if "recipients" in limits:
        limits["recipients"] = tuple(limits["recipients"])
    rates = RATES if isinstance(url, BaseUrl) and not url.local else {}
    return Profile(name=name, **{**table, "limits": Limits(**{**rates, **limits})})


_PATHS = ("journal", "ca_file")
_HTTP_PATHS = ("client_cert_file", "client_key_file")


def _place(table: dict[str, Any], names: Iterable[str], folder: Path) -> None:
    """Expand `~` in the paths of a table, and resolve relative paths against the folder of the profiles file."""
    for name in names:
        if isinstance(given := table.get(name), str) and given:
            with suppress(RuntimeError):  # the user may have no home folder
                table[name] = str(folder / Path(given).expanduser())


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


@hide_arguments
def client_settings(profile: Profile, api_key: str | Key | Callable[[], str] | None = None) -> dict[str, Any]:
    """Return the client arguments of a profile, with its key. The key is bound to the first host that it is used with.

    Args:
        api_key: The key, or a function that fetches the key, such as from a vault; None searches the profile's sources.
    """
    if profile.base_url is None:
        raise InvalidProfile(f"profile {profile.name!r} names no service; connect({profile.name!r}) opens its sandbox")
    url = base_url(profile.base_url)
    key = find_key(profile) if api_key is None else Key.of(api_key)
    if not url.local:
        key.checked_by(lambda fingerprint: pin(fingerprint, url.host, profile.environment))
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
