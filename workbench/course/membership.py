"""The class that this process belongs to: by WORKBENCH_CLASS, or since it connected to a learner's sandbox.

In a class no call with an effect goes out to a real service, and `connect()` opens the learner's sandbox.
"""

import os
from typing import TYPE_CHECKING, Any

from workbench.system.process import GUARDS, HOSTED, RESOLVERS, Address, at_start

if TYPE_CHECKING:
    from workbench.sandbox.remote import RemoteSandbox


def class_url() -> str:
    """Return the URL of this learner's sandbox in a class, from WORKBENCH_CLASS; empty where there is none."""
    return at_start("WORKBENCH_CLASS") or os.environ.get("WORKBENCH_CLASS", "")


def joined() -> bool:
    """Return whether this process belongs to a class."""
    return bool(HOSTED or class_url())


def register() -> None:
    """Register this module with the core: whether calls may go out, and which sandbox `connect()` opens."""
    GUARDS.append(_guard)
    RESOLVERS.append(_resolve)


def status(sandbox: "RemoteSandbox") -> dict[str, Any]:
    """Return the learner's name, the locked lessons and the trainer's notes.

    Raises:
        WrongEnvironment: The sandbox is not that of a class.
    """
    answer: dict[str, Any] = sandbox._ask("GET", "/_class")
    return answer


def report(sandbox: "RemoteSandbox", kind: str, exercise: str, **detail: object) -> dict[str, Any]:
    """Report a start, a check or a hint, and return what is missing by the server's own check, and new notes."""
    answer: dict[str, Any] = sandbox._ask("POST", "/_class", {"kind": kind, "exercise": exercise, **detail})
    return answer


def _guard(*, effect: bool, production: bool) -> str:
    return "this is a class" if (effect or production) and joined() else ""


def _resolve(production: bool) -> Address | None:
    if not (url := class_url()):
        return None
    path = "/production" if production else ""
    return Address(url.rstrip("/") + path, os.environ.get("WORKBENCH_CLASS_CA") or None)
