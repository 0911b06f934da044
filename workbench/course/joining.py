"""Join and leave a class by its link, such as `https://class.example:8700/olive-4f7m-qjxa#9f86d081…`.

The part after `#` is the first 32 digits of the SHA-256 fingerprint of the class server's self-signed certificate,
which is fetched and trusted only if it matches.
"""

import hashlib
import json
import re
import socket
import ssl
from pathlib import Path
from urllib.parse import SplitResult, urlsplit

import httpx

from workbench.base.errors import NotSent, UsageError, WrongEnvironment, visible
from workbench.base.schema import strict_json
from workbench.base.system.certificates import trusted
from workbench.base.system.files import write_file
from workbench.base.system.messages import LOOPBACK
from workbench.base.system.process import HOSTED
from workbench.client.calls.keys import state_folder, state_path
from workbench.course import membership
from workbench.course.display import Display
from workbench.service.rendering.text import Cell, Sheet

_SECONDS = 10
_MAX_LINK = 1_000
_MAX_ANSWER = 2**20  # bytes
_DIGITS = 32
_CERTIFICATE = "class-tls.crt"
_FORM = "is 'https://HOST:PORT/CODE#FINGERPRINT', or 'http://127.0.0.1:PORT/CODE' on the trainer's machine"


def join(link: str) -> Display:
    """Join a class: store the link, so that `wb.connect()` in all your kernels and commands opens your sandbox there.

    `workbench class leave` ends the membership; your progress is not lost.

    Args:
        link: The link of your sheet, with your code.

    Raises:
        UsageError: The link is malformed or cut off, its code is unknown, or its fingerprint does not match the server.
        NotSent: Connection refused.
        WrongEnvironment: The server is not a class server.
    """
    text = str(link).strip()
    if len(text) > _MAX_LINK:
        raise UsageError(f"link: {_FORM}; this one has {len(text):,} characters", of="course.join")
    url, sign, fingerprint = text.partition("#")
    url = url.rstrip("/")
    try:
        parts = urlsplit(url)
        is_safe = parts.scheme == "https" or (parts.scheme == "http" and parts.hostname in LOOPBACK)
        has_code = is_safe and parts.hostname and parts.path.count("/") == 1 and parts.username is None
        _ = parts.port
    except ValueError:
        has_code = False
    if not has_code:
        raise UsageError(f"link: {_FORM}", of="course.join")
    if sign and not re.fullmatch("[0-9a-fA-F]{32}", fingerprint):
        digits = "the link is cut off" if len(fingerprint) < _DIGITS else "the link has too many characters"
        raise UsageError(f"link: {digits}: 32 hexadecimal digits follow #, as on your sheet", of="course.join")
    ca_file = ""
    if fingerprint and parts.scheme == "https":
        ca_file = str(state_folder() / _CERTIFICATE)
        write_file(Path(ca_file), _certificate(parts, fingerprint).encode())
    name = _learner_name(url, parts, ca_file or None)
    write_file(state_folder() / membership.JOINED, json.dumps({"url": url, "ca_file": ca_file}).encode())
    HOSTED.add(url)
    text = "Sessions of all your notebooks and commands open your sandboxes of the class now. Begin with notebook 01."
    status = Cell(("✓ joined",), "status:done")
    return Display(Sheet(title=f"CLASS: {visible(name, 60)}", status=status, words=(text,), notes=(_LEAVE,)))


_LEAVE = "`workbench class leave` ends it; your progress is kept."


def _certificate(parts: SplitResult, fingerprint: str) -> str:
    """Return the certificate of a server as PEM, if it matches the fingerprint."""
    try:
        pem = ssl.get_server_certificate((str(parts.hostname), parts.port or 443), timeout=_SECONDS)
    except ssl.SSLError:
        raise WrongEnvironment(f"{parts.netloc} does not speak TLS: is it the class of your sheet?") from None
    except OSError as error:
        raise _no_answer(parts, error) from None
    if hashlib.sha256(ssl.PEM_cert_to_DER_cert(pem)).hexdigest()[:_DIGITS] != fingerprint.lower():
        raise UsageError(
            f"link: the server at {parts.netloc} has a different certificate than the link. Compare what follows # "
            "with your sheet, and ask the trainer whether the sheets are of this class",
            of="course.join",
        )
    return pem


def _learner_name(url: str, parts: SplitResult, ca_file: str | None) -> str:
    """Return the name of the learner with the code in a URL."""
    try:
        answer = _get(f"{url}/_class", ca_file)
    except httpx.ConnectError as error:
        if "certificate" in str(error).lower():
            raise NotSent(
                f"The certificate of {parts.netloc} is not trusted: use the link of your sheet, with what follows #."
            ) from None
        raise _no_answer(parts, error) from None
    except httpx.HTTPError as error:
        raise _no_answer(parts, error) from None
    try:
        content = strict_json.loads(answer.content)
    except strict_json.NotJson:
        content = None
    reason = str(content.get("message", "")) if isinstance(content, dict) else ""
    if answer.status_code == httpx.codes.NOT_FOUND and reason == membership.NO_LEARNER:
        raise UsageError(
            f"link: the class answers, but no learner has the code {visible(parts.path[1:], 40)!r}: compare it with "
            "your sheet, letter by letter",
            of="course.join",
        )
    if answer.status_code == httpx.codes.TOO_MANY_REQUESTS:
        raise UsageError("link: too many wrong codes were sent from here; wait a minute", of="course.join")
    if not isinstance(content, dict) or answer.status_code != httpx.codes.OK or "learner" not in content:
        raise WrongEnvironment(f"{parts.netloc} is not a class of the workbench (status {answer.status_code}).")
    return str(content["learner"])


def _get(url: str, ca_file: str | None) -> httpx.Response:
    """Return a response, with at most `_MAX_ANSWER` bytes of its content."""
    with (
        httpx.Client(verify=trusted(ca_file), timeout=_SECONDS, trust_env=False) as client,
        client.stream("GET", url, headers={"accept-encoding": "identity"}) as answer,
    ):
        content = b""
        for part in answer.iter_raw():
            content += part
            if len(content) > _MAX_ANSWER:
                break
        return httpx.Response(answer.status_code, content=content[:_MAX_ANSWER])


def _no_answer(parts: SplitResult, error: Exception) -> NotSent:
    reason = "this name is unknown in your network" if isinstance(error, socket.gaierror) else "no class is served"
    return NotSent(f"No answer from {parts.netloc.rpartition('@')[2]}: {reason}, or a firewall blocks it.")


def leave() -> Display:
    """Leave the class: later sessions open embedded sandboxes again. Your progress is not lost."""
    path = state_path() / membership.JOINED
    was = path.exists()
    for name in (membership.JOINED, _CERTIFICATE):
        (state_path() / name).unlink(missing_ok=True)
    status = Cell(("○ not in a class",), "status:planned")
    text = (
        "New kernels and commands use embedded sandboxes. Your progress is kept: wb.course.progress() shows it."
        if was
        else "No class was joined by a link on this account."
    )
    return Display(Sheet(title="CLASS", status=status, words=(text,)))
