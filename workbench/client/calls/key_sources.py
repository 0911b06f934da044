"""Sources of a profile's key: environment variable, command, keyring or hidden prompt. Files are never a source."""

import os
import re
import sys
import threading
from collections.abc import Sequence
from contextlib import suppress
from functools import partial

from workbench.base.arguments import hide_arguments
from workbench.base.errors import InvalidProfile, Problem
from workbench.base.keys import Key, key_problem
from workbench.base.system.private import accepts_input
from workbench.base.system.progress import ipython_shell
from workbench.client.calls.keys import APPLICATION
from workbench.client.calls.options import Profile

_COMMAND_SECONDS = 30


def key_variable(profile: str) -> str:
    """Return the environment variable of a profile's key."""
    return f"WORKBENCH_{re.sub('[^A-Z0-9]', '_', profile.upper())}_API_KEY"


@hide_arguments
def find_key(profile: Profile) -> Key:
    """Return the key of a profile: from the environment, its command, the keyring, or a hidden prompt.

    Raises:
        InvalidProfile: No key was found, or the key cannot be sent.
    """
    variables = _key_variables(profile)
    for variable in variables:
        if value := os.environ.get(variable):
            key = Key(value)
            if profile.forget_key_variable:  # hides the key from child processes and from `%env`
                os.environ.pop(variable, None)
            return key
    if profile.key_command:
        return Key.of(partial(_from_command, profile.key_command))
    stored = _from_keyring(profile.name)
    if stored is not None:
        return stored
    if can_prompt():
        import getpass  # imported late, since few keys are typed

        return Key(getpass.getpass(f"API key of {profile.name} ({profile.environment}): ").strip())
    text = (
        f"is missing for profile {profile.name!r}; set {' or '.join(variables)}, or store it in the keyring as "
        f"{APPLICATION} / {profile.name}"
    )
    raise InvalidProfile((Problem("api_key", "required", text),))


def signing_keys(profile: Profile) -> tuple[Key, ...]:
    """Return the key that signs deliveries, from a variable or a command; empty if the API key signs deliveries."""
    if signing := os.environ.get("WORKBENCH_WEBHOOK_KEY"):
        return (Key(signing, name="WORKBENCH_WEBHOOK_KEY"),)
    if profile.webhook_key_command:
        return (Key.of(partial(_from_command, profile.webhook_key_command), "webhook_key_command"),)
    return ()


def key_source(profile: Profile) -> str:
    """Return the source of a profile's key without running a command."""
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
    """Return the key printed by a program such as `op`, `pass` or `vault`. No shell is used, and no output is shown.

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
    passwords: list[str | None] = []

    def look_up() -> None:
        # an unusable keyring can raise any error, and counts as empty
        with suppress(Exception):
            passwords.append(keyring.get_password(APPLICATION, name))

    # the thread is abandoned if the keyring waits for a person or for D-Bus
    asking = threading.Thread(target=look_up, daemon=True)
    asking.start()
    asking.join(_COMMAND_SECONDS)
    if asking.is_alive():
        problem = f"the keyring did not answer within {_COMMAND_SECONDS} seconds"
        raise InvalidProfile((Problem("api_key", "keyring", problem),))
    return Key(passwords[0]) if passwords and passwords[0] else None


def can_prompt() -> bool:
    """Return whether a hidden prompt can reach a person: at a terminal, or in an interactive notebook."""
    if sys.stdin is not None and sys.stdin.isatty():
        return True
    return accepts_input(ipython_shell())
