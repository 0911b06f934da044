"""Class that this process belongs to: from WORKBENCH_CLASS, from a joined link, or from a connection to a learner's
sandbox.

In a class no call with an effect is sent to a real service, and `connect()` opens the learner's sandbox.
"""

import json
import os
from typing import TYPE_CHECKING, Any

from workbench.base.system.process import GUARDS, HOSTED, RESOLVERS, Address, at_start

if TYPE_CHECKING:
    from workbench.sandbox.remote import RemoteSandbox


NO_LEARNER = "No learner has this code"
JOINED = "class.json"
"""File in the user's state folder with the class joined by a link."""


def class_url() -> str:
    """Return the URL of the learner's sandbox in a class, from WORKBENCH_CLASS or the joined link."""
    return _variable() or stored().get("url", "")


def _variable() -> str:
    return at_start("WORKBENCH_CLASS") or os.environ.get("WORKBENCH_CLASS", "")


def stored() -> dict[str, str]:
    """Return the URL and certificate file of the joined class; empty if there is none."""
    from workbench.client.calls.keys import state_path  # a session has loaded it, `import workbench` does not

    try:
        kept = json.loads((state_path() / JOINED).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    is_whole = isinstance(kept, dict) and all(isinstance(kept.get(name), str) for name in ("url", "ca_file"))
    return kept if is_whole else {}


def joined() -> bool:
    """Return whether this process belongs to a class."""
    return bool(HOSTED or class_url())


def register() -> None:
    """Register this module with the core: whether calls may be sent, and which sandbox `connect()` opens."""
    GUARDS.append(_guard)
    RESOLVERS.append(_resolve)


def status(sandbox: "RemoteSandbox") -> dict[str, Any]:
    """Return the learner's name, the locked lessons and the trainer's notes.

    Raises:
        WrongEnvironment: The sandbox does not belong to a class.
    """
    answer: dict[str, Any] = sandbox._ask("GET", "/_class")
    return answer


def report(sandbox: "RemoteSandbox", kind: str, exercise: str, **detail: object) -> dict[str, Any]:
    """Report a start, a check or a hint; return what is missing by the server's check, and new notes."""
    answer: dict[str, Any] = sandbox._ask("POST", "/_class", {"kind": kind, "exercise": exercise, **detail})
    return answer


def _guard(*, effect: bool, production: bool) -> str:
    if not ((effect or production) and joined()):
        return ""
    return "this is a class" + ("" if _variable() or not stored() else " (`workbench class leave` ends it)")


def _resolve(production: bool) -> Address | None:
    path = "/production" if production else ""
    if url := _variable():
        return Address(url.rstrip("/") + path, os.environ.get("WORKBENCH_CLASS_CA") or None)
    if not (kept := stored()):
        return None
    return Address(kept["url"] + path, kept["ca_file"] or None, _OVER)


_OVER = (
    "You joined a class there. If it is over, `workbench class leave` returns to embedded sandboxes, and your progress "
    "is kept; else ask the trainer whether the server runs."
)
