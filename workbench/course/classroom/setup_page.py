"""/setup of a class server: a page with a one-line install command for each system, and the files that it reads.

/setup                  the page
/setup/install.py       install.py with the address, and the certificate of a self-signed server
/setup/setup.json       /setup/notebooks.zip, /setup/wheels/NAME: files listed in setup.json, and no others
"""

from collections.abc import Iterable
from html import escape
from importlib.resources import files
from pathlib import Path
from urllib.parse import urlsplit

import attrs

from workbench.base.system.messages import Response
from workbench.course.classroom.wheel_house import MANIFEST, SETUP, SYSTEMS, read_manifest
from workbench.course.evidence import Record
from workbench.service.rendering.elements import Markup, element, html_page

_TYPES = {".json": "application/json", ".zip": "application/zip", ".whl": "application/octet-stream"}
PAGE_HEADERS = {
    "content-type": "text/html; charset=utf-8",
    "content-security-policy": "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'",
    "referrer-policy": "no-referrer",
    "cache-control": "no-store",
}
_STYLESHEET = Markup('<link rel="stylesheet" href="/board.css">')
_HEAD = Markup(
    '<header class="head"><h1>Set up your laptop</h1><span class="quiet">Card issuing course</span></header>'
)


@attrs.frozen
class SetupPage:
    """Responses to requests below /setup.

    Attributes:
        folder: Folder of the class; None if the class has no folder.
        url: URL of the class server.
        certificate: Self-signed certificate of the server as PEM; empty for another certificate.
        fingerprint: Digits of the certificate's SHA-256 fingerprint, as in the links.
    """

    folder: Path | None
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
            return Response(status=200, headers=PAGE_HEADERS, body=self._page(manifest, link).encode())
        if manifest is None or self.folder is None:
            return None
        if name == "install.py":
            script = files("workbench.course.classroom").joinpath("install.py").read_text(encoding="utf-8")
            script = script.replace('SERVER = ""', f"SERVER = {f'{self.url}/{SETUP}'!r}", 1)
            return _text(script.replace('CERTIFICATE = ""', f"CERTIFICATE = {self.certificate!r}", 1), "text/x-python")
        if name != MANIFEST and name not in manifest["files"]:
            return None
        path = self.folder / SETUP / name
        return Response(status=200, headers={"content-type": _TYPES[path.suffix]}, file=path)

    def _page(self, manifest: Record | None, link: str) -> str:
        join = _JOIN.format(command=escape(f"workbench course join {link}"))
        if manifest is None:
            return _guide(_UNPREPARED, join)
        certificate = _CERTIFICATE if self.fingerprint else ""
        lines = [_line(system, self.script(), manifest["targets"]) for system in SYSTEMS.values()]
        return _guide(_ABOUT, certificate, "<h2>Install</h2>", *lines, join, _OTHER)

    def script(self) -> str:
        """Return the Python code of the install command. It contains neither double quotes nor `$`.

        The code checks the fingerprint of a self-signed certificate before it reads any file, and trusts no other
        certificate.
        """
        where, digits = urlsplit(self.url), self.fingerprint
        begin, trusted = "import urllib.request as r;", ""
        if self.fingerprint:
            begin = (
                "import hashlib,ssl,urllib.request as r;"
                f"c=ssl.get_server_certificate(('{where.hostname}',{where.port}));"
                f"hashlib.sha256(ssl.PEM_cert_to_DER_cert(c)).hexdigest()[:{len(digits)}]=='{digits}'"
                " or exit('Stop: not the certificate of your class');"
            )
            trusted = ",r.HTTPSHandler(context=ssl.create_default_context(cadata=c))"
        opener = f"r.build_opener(r.ProxyHandler({{}}){trusted})"
        return f"{begin}exec({opener}.open('{self.url}/setup/install.py').read())"


_ABOUT = """<p>One line installs the workbench and the notebooks of the course from the class server. It needs Python
and the network of the class, not the internet, and writes only to the new folder <code>card-course</code>.</p>"""
_CERTIFICATE = """<h2>Compare the certificate first</h2><p>Your browser warns you because the class has a self-signed
certificate. Show the certificate in the browser (click on the warning next to the address) and compare the first 32
digits of its SHA-256 fingerprint with those after <code>#</code> in the link of your printed sheet. If they differ,
stop and ask your trainer: somebody else may have sent this page. The lines below compare the same digits before they
read anything.</p>"""
_JOIN = """<h2>Join</h2><p>In the folder <code>card-course</code>, with the link of your sheet; it opens JupyterLab.</p>
<pre class='line'>.venv/bin/{command}</pre><p>On Windows it begins with <code>.venv\\Scripts\\workbench</code>.</p>"""
_OTHER = """<h2>Other ways</h2><ul><li>From a USB drive with the folder <code>setup</code> of the class, without a
network: <code>python3 setup/install.py</code></li>
<li>The <a href='/setup/notebooks.zip'>notebooks</a> alone</li></ul>"""
_UNPREPARED = """<p>This class has no packages to install from. Trainer: run <code>workbench course prepare --folder
FOLDER</code> while there is internet; this page then shows one line for each system.</p>"""


def _line(system: Record, script: str, targets: Iterable[str]) -> str:
    """Return the command for a system; empty if the targets do not contain the system."""
    pythons = [target.rpartition("-")[2] for target in targets if target.startswith(system["target"])]
    title, line = system["title"], escape(f'{system["program"]} -c "{script}"')
    about = f"In {system['terminal']}, with Python {', '.join(pythons)}:"
    return f"<h3>{title}</h3><p>{about}</p><pre class='line'>{line}</pre>" if pythons else ""


def _guide(*parts: str) -> str:
    main = element("main", Markup("\n".join(parts)))
    return html_page("Set up your laptop", _HEAD, main, head=_STYLESHEET, class_="guide")


def _text(text: str, kind: str) -> Response:
    return Response(status=200, headers={"content-type": kind, "cache-control": "no-store"}, body=text.encode())
