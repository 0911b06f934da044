"""Pages of a class, made from the templates in `pages.html`, and the files below /setup of a class server.

/setup                  a page with a one-line install command for each system
/setup/install.py       install.py with the address, and the certificate of a self-signed server
/setup/setup.json       /setup/notebooks.zip, /setup/wheels/NAME: files listed in setup.json, and no others
"""

import re
from collections.abc import Iterable
from pathlib import Path
from string import Template
from urllib.parse import urlsplit

from workbench.base.system.messages import Response
from workbench.course.classroom.class_results import Results
from workbench.course.classroom.wheel_house import MANIFEST, SETUP, SYSTEMS, read_manifest
from workbench.service.rendering import design
from workbench.service.rendering.elements import Markup, html_page, joined

_HEADERS = {
    "content-security-policy": "default-src 'none'; connect-src 'self'; img-src data:; script-src 'self'; "
    "style-src 'self'",
    "referrer-policy": "no-referrer",
    "cache-control": "no-store",
}
_TYPES = {
    ".html": "text/html; charset=utf-8",
    ".js": "text/javascript",
    ".css": "text/css",
    ".py": "text/x-python",
    ".json": "application/json",
    ".zip": "application/zip",
    ".whl": "application/octet-stream",
}
STYLESHEET = Markup('<link rel="stylesheet" href="/board.css">')


def read(name: str) -> str:
    """Return the text of a file of this package."""
    return Path(__file__).with_name(name).read_text(encoding="utf-8")


_PARTS = dict(re.findall(r"<!-- (\w+) -->\n(.*?)\n(?=<!--|\Z)", read("pages.html"), re.DOTALL))


def part(name: str, /, **values: object) -> Markup:
    """Return a part of `pages.html` filled with values. Text is escaped."""
    written = {key: joined([value if isinstance(value, Markup) else str(value)]) for key, value in values.items()}
    return Markup(Template(_PARTS[name]).substitute(written))


def response(text: str, kind: str = ".html") -> Response:
    """Return a response with a text. `kind` is a file extension, which determines the content type."""
    return Response(status=200, headers={**_HEADERS, "content-type": _TYPES[kind]}, body=text.encode())


def style() -> str:
    """Return the style sheet of all pages."""
    return f"{design.variables('body', by_system=True)}{read('board.css')}"


def setup(folder: Path, results: Results, name: str, link: str) -> Response | None:
    """Return the response for a path below /setup; None if the server has no such file.

    Args:
        folder: Folder of the class.
        results: Results file of the class, with the URL and the self-signed certificate of the last start.
        name: Path of the file below /setup; empty for the page.
        link: The learner's link, which the page shows.
    """
    manifest, url = read_manifest(folder), results.get("url")
    if not name:
        fingerprint = results.get("fingerprint")
        install = _install(manifest["targets"], url, fingerprint) if manifest else part("unprepared")
        page = part("setup", install=install, link=link)
        return response(html_page("Set up your laptop", page, head=STYLESHEET, class_="guide"))
    if not manifest or name not in {"install.py", MANIFEST, *manifest["files"]}:
        return None
    if name == "install.py":
        script = read(name).replace('SERVER = ""', f"SERVER = {f'{url}/{SETUP}'!r}", 1)
        certificate = results.get("certificate")
        return response(script.replace('CERTIFICATE = ""', f"CERTIFICATE = {certificate!r}", 1), ".py")
    path = folder / SETUP / name
    return Response(status=200, headers={"content-type": _TYPES[path.suffix]}, file=path)


def _install(targets: Iterable[str], url: str, fingerprint: str) -> Markup:
    """Return the installation instructions with a command for each system. No command's script contains `"` or `$`."""
    where, name = urlsplit(url), "script_tls" if fingerprint else "script"
    script = part(name, host=where.hostname, port=where.port, digits=fingerprint, url=url)
    lines = []
    for system in SYSTEMS.values():
        pythons = [target.rpartition("-")[2] for target in targets if target.startswith(system["target"])]
        if pythons:
            lines.append(part("line", **system, pythons=", ".join(pythons), script=script))
    return part("install", compare=part("compare") if fingerprint else "", lines=joined(lines))
