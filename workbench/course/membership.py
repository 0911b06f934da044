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


NO_LEARNER = "No learner has the code of this link: compare it with your learner sheet, letter by letter"
JOINED = "class.json"
"""File in the user's state folder with the class joined by a link."""
_SECONDS = 30
_OVER = (
    "You joined a class at this address. If it is over, `workbench course leave` returns to embedded sandboxes, "
    "and your progress is kept; otherwise ask the trainer whether the server runs."
)
_places: list[str] = []
"""The run of a notebook or drill that this process began last, such as `02.3`; empty before."""


def stored() -> ServedAddress | None:
    """Return the address of the class joined by a link; None if no class was joined.

    Raises:
        UnusableFile: The file is damaged, so the joined class is unknown.
    """
    import json

    from workbench.base.errors import UnusableFile
    from workbench.client.calls.keys import state_path  # a session loads this module, but `import workbench` does not

    path = state_path() / JOINED
    try:
        kept = json.loads(path.read_text(encoding="utf-8"))
        return ServedAddress(str(kept["url"]), str(kept["ca_file"]) or None, _OVER)
    except (FileNotFoundError, NotADirectoryError):
        return None
    except (OSError, ValueError, LookupError, TypeError, RecursionError):
        raise UnusableFile(
            f"{path}, which names the class that you joined, is damaged. Join again with the link on your learner "
            "sheet, or leave the class with `workbench course leave`."
        ) from None


def address() -> ServedAddress | None:
    """Return the learner's address in a class, from WORKBENCH_CLASS or the joined link; None outside a class."""
    if url := at_start("WORKBENCH_CLASS") or os.environ.get("WORKBENCH_CLASS"):
        return ServedAddress(url.rstrip("/"), os.environ.get("WORKBENCH_CLASS_CA") or None)
    return stored()


def own_address(production: bool) -> ServedAddress | None:
    """Return the address of the learner's sandbox; None outside a class."""
    root = address()
    if root is None:
        return None
    place = f"/{_places[0]}" if _places else ""
    return ServedAddress(f"{root.url}{place}{'/production' if production else ''}", root.ca_file, root.advice)


def joined() -> bool:
    """Return whether this process belongs to a class."""
    return bool(HOSTED or address())


def refusal(*, effect: bool, production: bool) -> str:
    """Return why a call from a class may not be sent to a real service; empty if it may."""
    is_refused = (effect or production) and joined()
    return "this is a class (if you joined by a link, `workbench course leave` leaves it)" if is_refused else ""


def begin(place: str) -> None:
    """Begin a notebook or drill in a new sandbox for later sessions of this process. Do nothing outside a class."""
    if root := address():
        _places[:] = [ask(root.url, root.ca_file, {"kind": "begin", "task": place})["place"]]


def status() -> dict[str, Any] | None:
    """Return the learner's name, results and trainer's notes; None outside a class."""
    root = address()
    return ask(root.url, root.ca_file) if root else None


def no_answer(host: str, error: Exception) -> Exception:
    """Return the error for a class server that does not answer."""
    from workbench.base.errors import NotSent

    if "certificate" in str(error).lower():
        return NotSent(
            f"The certificate of {host} is not trusted: use the full link on your learner sheet, including the part "
            "after #."
        )
    return NotSent(
        f"No answer from {host}: no class is served there, the host name is unknown, or a firewall blocks the "
        "connection."
    )


def ask(url: str, ca_file: str | None, content: object = None) -> dict[str, Any]:
    """Ask the class server at a learner's URL for the status, or send an action with `content`. Return the answer.

    Raises:
        NotSent: The class server did not answer.
        UsageError: The class refused the action.
        WrongEnvironment: The URL does not belong to a class.
    """
    import httpx

    from workbench.base.errors import UsageError, WrongEnvironment, visible
    from workbench.base.schema import strict_json
    from workbench.base.system.certificates import trusted

    host = httpx.URL(url).netloc.decode()
    try:
        with httpx.Client(base_url=url, verify=trusted(ca_file), timeout=_SECONDS, trust_env=False) as client:
            answer = client.request("GET" if content is None else "POST", "/_class", json=content)
        read = dict(strict_json.loads(answer.content))
    except httpx.HTTPError as error:
        raise no_answer(host, error) from error
    except (TypeError, ValueError):
        read = {}
    if answer.is_success and read:
        return read
    message, status = visible(str(read.get("message", "")), 400), answer.status_code
    if message != NO_LEARNER and (status >= 500 or status == 404 or not message):
        raise WrongEnvironment(f"{host} is not a class of the workbench (status {status}).")
    raise UsageError(f"{message[:1].lower()}{message[1:]}", of="class")
