"""/setup of a class server: a page with a one-line install command for each system, and the files that it reads.

/setup                  the page
/setup/install.py       install.py with the address, and the certificate of a self-signed server
/setup/setup.json       /setup/notebooks.zip, /setup/wheels/NAME: files listed in setup.json, and no others
"""

from collections.abc import Iterable
from pathlib import Path
from urllib.parse import urlsplit

import attrs

from workbench.base.system.messages import Response
from workbench.course.classroom.pages import STYLESHEET, part, read, response
from workbench.course.classroom.wheel_house import MANIFEST, SETUP, SYSTEMS, read_manifest
from workbench.service.rendering.elements import Markup, html_page, joined

_TYPES = {".json": "application/json", ".zip": "application/zip", ".whl": "application/octet-stream"}


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
