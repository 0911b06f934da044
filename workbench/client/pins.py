"""Which key belongs to which host: bound at first use, so that a sandbox key never meets a production host."""

import json
import os
import secrets
from pathlib import Path

from workbench.client.state import state_folder
from workbench.errors import InvalidProfile, Problem


def pin(fingerprint: str, host: str, environment: str) -> None:
    """Bind a key to a host and an environment, or hold it against what it was bound to.

    Raises:
        InvalidProfile: It was used with another host or environment before.
    """
    path = state_folder() / "pins.json"
    pins = _read(path)
    here = {"host": host, "environment": environment}
    before = pins.get(fingerprint)
    if before == here:
        return
    if before is not None:
        raise InvalidProfile(
            (
                Problem(
                    "api_key",
                    "pinned",
                    f"with fingerprint {fingerprint} belongs to {before.get('host')} ({before.get('environment')}), not to "
                    f"{host} ({environment}). If it really moved, take its line out of {path}",
                ),
            )
        )
    pins[fingerprint] = here
    fresh = path.with_name(f".pins-{secrets.token_hex(4)}")
    handle = os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(handle, "w", encoding="utf-8") as file:
        json.dump(pins, file, indent=1)
    fresh.replace(path)


def _read(path: Path) -> dict[str, dict[str, str]]:
    try:
        pins = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return {}
    except (ValueError, OSError):
        pins = None
    if isinstance(pins, dict) and all(isinstance(one, dict) for one in pins.values()):
        return pins
    raise InvalidProfile(f"{path} cannot be read, so no key can be held against its host; remove it to begin anew")
