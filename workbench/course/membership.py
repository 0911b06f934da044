"""Class to which this process belongs, from WORKBENCH_CLASS, a joined link, or a connection to a class's sandbox.

In a class, no call with an effect is sent to a real service, and `connect()` opens the learner's sandbox. `begin` gives
each notebook and drill a separate sandbox on the class server.
"""

from __future__ import annotations  # `import workbench` loads this module, but must not load typing

import os

from workbench.base.lazy import TYPE_CHECKING
from workbench.base.system.process import HOSTED, ServedAddress, at_start

if TYPE_CHECKING:
    from typing import Any

    from workbench.course.desk import Act
    from workbench.sandbox.remote import RemoteSandbox


NO_LEARNER = "No learner has this code"
JOINED = "class.json"
"""File in the user's state folder with the class joined by a link."""
_SECONDS = 30
_MAX_ANSWER = 2**20  # maximum bytes of a response
_places: list[str] = []
"""The place that this process began last, with its number, such as `02.3`; empty before."""


def class_url() -> str:
    """Return the learner's URL in a class, from WORKBENCH_CLASS or the joined link."""
    return _variable() or stored().get("url", "")


def _variable() -> str:
    return at_start("WORKBENCH_CLASS") or os.environ.get("WORKBENCH_CLASS", "")


def stored() -> dict[str, str]:
    """Return the URL and certificate file of the joined class; both are empty if no class was joined.

    Raises:
        UnusableFile: The file is damaged, so the joined class is unknown.
    """
    import json

    from workbench.base.errors import UnusableFile
    from workbench.client.calls.keys import state_path  # a session loads this module, but `import workbench` does not

    path = state_path() / JOINED
    try:
        kept = json.loads(path.read_text(encoding="utf-8"))
    except (FileNotFoundError, NotADirectoryError):
        return {}
    except (OSError, ValueError, RecursionError):
        kept = None
    if not isinstance(kept, dict) or not all(isinstance(kept.get(name), str) for name in ("url", "ca_file")):
        raise UnusableFile(
            f"{path}, which names the class that you joined, is damaged. Join again with the link of your sheet, or "
            "leave the class with `workbench course leave`."
        )
    return kept


def joined() -> bool:
    """Return whether this process belongs to a class."""
    return bool(HOSTED or class_url())


def begin(place: str) -> None:
    """Restart a place, so that later sessions of this process open its new sandbox. Does nothing outside a class."""
    if address := _resolve_root():
        _places[:] = [ask(address.url, address.ca_file, {"kind": "begin", "task": place})["place"]]


def status(sandbox: RemoteSandbox | None = None) -> dict[str, Any] | None:
    """Return the learner's name, results, locked lessons and trainer's notes; None outside a class."""
    if sandbox is not None:
        from workbench.sandbox.internals import internals

        return _answer(internals(sandbox).http)
    address = _resolve_root()
    return None if address is None else ask(address.url, address.ca_file)


def report(sandbox: RemoteSandbox, act: Act) -> dict[str, Any]:
    """Send a learner's action on a task to the class, and return the answer to the learner.

    Raises:
        UsageError: The class refused the action, for example because the lesson is locked.
    """
    from workbench.sandbox.internals import internals

    return _answer(internals(sandbox).http, {"kind": act.kind, "task": act.task, "values": dict(act.values)})


def ask(url: str, ca_file: str | None, content: object = None) -> dict[str, Any]:
    """Ask the class server at a learner's URL for the status, or send an entry to the server. Return the answer.

    Raises:
        NotSent: The class server did not answer.
        UsageError: The class refused the entry.
        WrongEnvironment: The URL is not that of a class.
    """
    import httpx

    from workbench.base.system.certificates import trusted

    with httpx.Client(base_url=url, verify=trusted(ca_file), timeout=_SECONDS, trust_env=False) as client:
        return _answer(client, content)


def no_answer(host: str, error: Exception) -> Exception:
    """Return the error for a class server that does not answer."""
    from workbench.base.errors import NotSent

    if "certificate" in str(error).lower():
        return NotSent(
            f"The certificate of {host} is not trusted: use the link of your sheet, including the part after #."
        )
    return NotSent(f"No answer from {host}: no class is served there, the name is unknown, or a firewall blocks it.")


def _answer(client: Any, content: object = None) -> dict[str, Any]:
    """Return the content of a response, of which at most `_MAX_ANSWER` bytes are read. A refusal raises its error."""
    import httpx

    from workbench.base.errors import UsageError, WrongEnvironment, visible
    from workbench.base.schema import strict_json

    body, method = b"", "GET" if content is None else "POST"
    host = client.base_url.netloc.decode()
    try:
        with client.stream(method, "/_class", json=content, headers={"accept-encoding": "identity"}) as answer:
            for part in answer.iter_raw():
                body += part
                if len(body) > _MAX_ANSWER:
                    break
    except httpx.HTTPError as error:
        raise no_answer(host, error) from error
    try:
        parsed = strict_json.loads(body)
    except strict_json.NotJson:
        parsed = None
    read = dict(parsed) if isinstance(parsed, dict) else {}
    message, status = visible(str(read.get("message", "")), 400), answer.status_code
    if 200 <= status < 300 and read:
        return read
    if message == NO_LEARNER:
        message = "no learner has the code of this link: compare it with your sheet, letter by letter"
    elif status >= 500 or status == 404 or not message:
        raise WrongEnvironment(f"{host} is not a class of the workbench (status {status}).")
    raise UsageError(f"{message[:1].lower()}{message[1:]}", of="class")


def refusal(*, effect: bool, production: bool) -> str:
    """Return why a call from a class may not be sent to a real service; empty if it may."""
    if not ((effect or production) and joined()):
        return ""
    return "this is a class" + ("" if _variable() or not stored() else " (`workbench course leave` ends it)")


def _resolve_root() -> ServedAddress | None:
    if url := _variable():
        return ServedAddress(url.rstrip("/"), os.environ.get("WORKBENCH_CLASS_CA") or None)
    if not (kept := stored()):
        return None
    return ServedAddress(kept["url"], kept["ca_file"] or None, _OVER)


def own_address(production: bool) -> ServedAddress | None:
    """Return the address of the learner's sandbox; None outside a class."""
    root = _resolve_root()
    if root is None:
        return None
    place = f"/{_places[0]}" if _places else ""
    return ServedAddress(f"{root.url}{place}{'/production' if production else ''}", root.ca_file, root.advice)


_OVER = (
    "You joined a class there. If it is over, `workbench course leave` returns to embedded sandboxes, "
    "and your progress is kept; otherwise ask the trainer whether the server runs."
)
