"""Where a profile's key comes from: the environment, the keyring where there is one, a hidden prompt. Never a file."""

import getpass
import os
import sys

from workbench.client.keys import Key
from workbench.client.settings import Profile, key_variable
from workbench.client.state import APPLICATION
from workbench.errors import InvalidProfile, Problem


def find_key(profile: Profile) -> Key:
    """Return the key of a profile.

    Raises:
        InvalidProfile: There is none, or it cannot be sent.
    """
    __tracebackhide__ = True
    variables = [name for name in (profile.key_variable, key_variable(profile.name), "WORKBENCH_API_KEY") if name]
    for variable in variables:
        if os.environ.get(variable):
            key = Key(os.environ[variable])
            if profile.forget_key_variable:  # so that child processes and `%env` do not have it
                del os.environ[variable]
            return key
    held = _from_keyring(profile.name)
    if held is not None:
        return held
    if _somebody_types():
        return Key(getpass.getpass(f"API key of {profile.name} ({profile.environment}): ").strip())
    raise InvalidProfile(
        (
            Problem(
                "api_key",
                "required",
                f"is missing for profile {profile.name!r}; set {' or '.join(variables)}, or store it in the keyring as "
                f"{APPLICATION} / {profile.name}",
            ),
        )
    )


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


def _somebody_types() -> bool:
    """Whether a hidden prompt would reach a person: at a terminal, or in a notebook that somebody runs by hand."""
    if sys.stdin is not None and sys.stdin.isatty():
        return True
    shell = getattr(sys.modules.get("IPython"), "get_ipython", lambda: None)()
    return bool(getattr(getattr(shell, "kernel", None), "_allow_stdin", False))
