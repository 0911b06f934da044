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

from workbench.base.errors import NotSent, UsageError, WrongEnvironment, visible
from workbench.base.system.files import write_file
from workbench.base.system.messages import LOOPBACK
from workbench.base.system.process import HOSTED
from workbench.client.calls.keys import state_folder, state_path
from workbench.course import membership
from workbench.course.display import Display
from workbench.service.rendering.text import Cell, Sheet

_SECONDS = 10
_MAX_LINK = 1_000
_OK, _NOT_FOUND, _TOO_MANY = 200, 404, 429
_DIGITS = 32
_CERTIFICATE = "class-tls.crt"
_FORM = "is 'https://HOST:PORT/CODE#FINGERPRINT', or 'http://127.0.0.1:PORT/CODE' on the trainer's machine"


def join(link: str) -> Display:
    """Join a class: store the link, so that `wb.connect()` in all your kernels and commands opens your sandbox there.

    `workbench course leave` ends the membership; your progress is not lost.

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


_LEAVE = "`workbench course leave` ends it; your progress is kept."


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
        status, content = membership.exchange(url, ca_file)
    except NotSent as error:
        if "certificate" in str(error.__cause__).lower():
            raise NotSent(
                f"The certificate of {parts.netloc} is not trusted: use the link of your sheet, with what follows #."
            ) from None
        raise _no_answer(parts, error.__cause__) from None
    if status == _NOT_FOUND and content.get("message") == membership.NO_LEARNER:
        raise UsageError(
            f"link: the class answers, but no learner has the code {visible(parts.path[1:], 40)!r}: compare it with "
            "your sheet, letter by letter",
            of="course.join",
        )
    if status == _TOO_MANY:
        raise UsageError("link: too many wrong codes were sent from here; wait a minute", of="course.join")
    if status != _OK or "learner" not in content:
        raise WrongEnvironment(f"{parts.netloc} is not a class of the workbench (status {status}).")
    return str(content["learner"])


def _no_answer(parts: SplitResult, error: BaseException | None) -> NotSent:
    reason = "this name is unknown in your network" if isinstance(error, socket.gaierror) else "no class is served"
    return NotSent(f"No answer from {parts.netloc}: {reason}, or a firewall blocks it.")


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
