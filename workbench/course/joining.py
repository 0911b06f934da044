"""Join and leave a class by its link, such as `https://class.example:8700/olive-4f7m-qjxa#9f86d081…`.

The part after `#` has the first 32 digits of a SHA-256 fingerprint. The class server's self-signed certificate is
fetched, and trusted only if its fingerprint matches.
"""

import hashlib
import json
import re
import ssl
from pathlib import Path

from workbench.base.errors import UsageError, visible
from workbench.base.system.files import write_file
from workbench.base.system.messages import LOOPBACK
from workbench.base.system.process import HOSTED
from workbench.client.calls.keys import state_folder, state_path
from workbench.course import membership
from workbench.course.display import Display
from workbench.service.rendering.text import Cell, Sheet

_SECONDS = 10
_MAX_LINK = 1_000
_MAX_PORT = 65_535
_CERTIFICATE = "class-tls.crt"
_LINK = re.compile(
    r"((https?)://(\[[0-9a-f:.]+\]|[^\s/@:#?\[\]]+)(?::([0-9]{1,5}))?/[^\s/#?]+)/*(?:#([0-9a-fA-F]{32}))?"
)
_FORM = (
    "is 'https://HOST:PORT/CODE#FINGERPRINT' with 32 hexadecimal digits, or 'http://127.0.0.1:PORT/CODE' on the "
    "trainer's machine"
)


def join(link: str) -> Display:
    """Join a class. The link is stored, so `wb.connect()` in all your kernels and commands opens your sandbox.

    `workbench course leave` ends the membership. Your progress is not lost.

    Args:
        link: The full link on your learner sheet. It contains your code.

    Raises:
        UsageError: The link is malformed or truncated, its code is unknown, or its fingerprint does not match the
            server.
        NotSent: The server does not answer, or its certificate is not trusted.
        WrongEnvironment: The server is not a class server.
    """
    parts = _LINK.fullmatch(str(link).strip()[:_MAX_LINK])
    url, scheme, host, port, fingerprint = parts.groups("") if parts else ("",) * 5
    if not url or int(port or 0) > _MAX_PORT or (scheme == "http" and host not in LOOPBACK):
        raise UsageError(f"link: is cut off or mistyped; a link {_FORM}", of="course.join")
    ca_file = ""
    if fingerprint and scheme == "https":
        ca_file = str(state_folder() / _CERTIFICATE)
        write_file(Path(ca_file), _certificate(host.strip("[]"), int(port or 443), fingerprint).encode())
    name = str(membership.ask(url, ca_file or None)["learner"])
    write_file(state_folder() / membership.JOINED, json.dumps({"url": url, "ca_file": ca_file}).encode())
    HOSTED.add(url)
    text = "Sessions of all your notebooks and commands open your sandboxes of the class now. Begin with notebook 01."
    status = Cell(("✓ joined",), "status:done")
    return Display(Sheet(title=f"CLASS: {visible(name, 60)}", status=status, words=(text,), notes=(_LEAVE,)))


_LEAVE = "To leave the class, run `workbench course leave`; your progress is kept."


def _certificate(host: str, port: int, fingerprint: str) -> str:
    """Return the certificate of a server as PEM, if it matches the fingerprint."""
    try:
        pem = ssl.get_server_certificate((host, port), timeout=_SECONDS)
    except OSError as error:
        raise membership.no_answer(f"{host}:{port}", error) from None
    if not hashlib.sha256(ssl.PEM_cert_to_DER_cert(pem)).hexdigest().startswith(fingerprint.lower()):
        raise UsageError(
            f"link: the part after # does not match the certificate of the server at {host}:{port}. Compare the "
            "link with your learner sheet, and ask the trainer whether the sheets belong to this class",
            of="course.join",
        )
    return pem


def leave() -> Display:
    """Leave the class. Later sessions open embedded sandboxes again, and your progress is not lost."""
    for name in (membership.JOINED, _CERTIFICATE):
        (state_path() / name).unlink(missing_ok=True)
    status = Cell(("○ not in a class",), "status:planned")
    text = "New kernels and commands use embedded sandboxes. Your progress is kept: wb.course.progress() shows it."
    return Display(Sheet(title="CLASS", status=status, words=(text,)))
