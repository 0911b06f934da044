"""Parts of the pages of a class, from `pages.html`, and what is below /setup of a class server.

/setup                  a page with a one-line install command for each system
/setup/install.py       install.py with the address, and the certificate of a self-signed server
/setup/setup.json       /setup/notebooks.zip, /setup/wheels/NAME: files listed in setup.json, and no others
"""

import re
from collections.abc import Iterable
from pathlib import Path
from string import Template
from urllib.parse import urlsplit

import attrs

from workbench.base.system.messages import Response
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
    """Return a response with a page, or with a text of another kind."""
    return Response(status=200, headers={**_HEADERS, "content-type": _TYPES[kind]}, body=text.encode())


def style() -> str:
    """Return the style sheet of all pages."""
    return f"{design.variables('body', by_system=True)}{read('board.css')}"


def inline_style() -> str:
    """Return the style sheet as HTML, for pages without a server."""
    return f"<style>{style()}</style>"


@attrs.frozen
class SetupPage:
    """Responses to requests below /setup.

    Attributes:
        folder: Folder of the class.
        url: URL of the class server.
        certificate: Self-signed certificate of the server as PEM; empty for another certificate.
        fingerprint: Digits of the certificate's SHA-256 fingerprint, as in the links.
    """

    folder: Path
    url: str
    certificate: str
    fingerprint: str

    def answer(self, name: str, link: str = "LINK") -> Response | None:
        """Return the response for a path below /setup; None if the server has no such file.

        Args:
            name: Path of the file below /setup; empty for the page.
            link: The learner's link, which the page shows.
        """
        manifest = read_manifest(self.folder)
        if not name:
            install = self._install(manifest["targets"]) if manifest else part("unprepared")
            page = part("setup", install=install, link=link)
            return response(html_page("Set up your laptop", page, head=STYLESHEET, class_="guide"))
        if not manifest or name not in {"install.py", MANIFEST, *manifest["files"]}:
            return None
        if name == "install.py":
            script = read(name).replace('SERVER = ""', f"SERVER = {f'{self.url}/{SETUP}'!r}", 1)
            return response(script.replace('CERTIFICATE = ""', f"CERTIFICATE = {self.certificate!r}", 1), ".py")
        path = self.folder / SETUP / name
        return Response(status=200, headers={"content-type": _TYPES[path.suffix]}, file=path)

    def _install(self, targets: Iterable[str]) -> Markup:
        """Return how to install, with a command for each system. Its script has neither double quotes nor `$`."""
        where = urlsplit(self.url)
        of_script = {"host": where.hostname, "port": where.port, "digits": self.fingerprint, "url": self.url}
        script = part("script_tls" if self.fingerprint else "script", **of_script)
        lines = []
        for system in SYSTEMS.values():
            pythons = [target.rpartition("-")[2] for target in targets if target.startswith(system["target"])]
            if pythons:
                lines.append(part("line", **system, pythons=", ".join(pythons), script=script))
        compare = part("compare") if self.fingerprint else ""
        return part("install", compare=compare, lines=joined(lines))
