"""Laptops install without internet from the class server or a copied folder. Only listed files are served."""

import hashlib
import json
import platform
import re
import socket
import ssl
import subprocess
import sys
import zipfile
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from urllib.parse import urlsplit

import httpx
import pytest
from packaging.tags import platform_tags

from tests import environments
from tests.classroom.offline import laptop, line_of
from workbench import __version__
from workbench.base.errors import UsageError
from workbench.base.system import http_server
from workbench.course.classroom import ClassServer, wheel_house
from workbench.course.classroom.wheel_house import SYSTEMS
from workbench.sandbox.server import self_signed

pytestmark = pytest.mark.slow  # each test runs a class server

NOTEBOOKS = environments.ROOT / "notebooks"
BASE_PYTHON = Path(sys.executable).resolve()
"""The Python from which the environment of the tests was made."""
OWN = f"{sys.version_info[0]}.{sys.version_info[1]}"
SYSTEM = next(name for name, one in SYSTEMS.items() if one["target"] == f"{sys.platform}-{platform.machine().lower()}")
WHEEL = "wheels/pip-26.3-py3-none-any.whl"


@pytest.fixture
def prepared(tmp_path: Path) -> Path:
    """Return the folder of a class with a large listed wheel and a wheel that is not listed."""
    folder = tmp_path / "class"
    (folder / "setup" / "wheels").mkdir(parents=True)
    content = bytes(range(256)) * 40_000
    (folder / "setup" / WHEEL).write_bytes(content)
    (folder / "setup" / "wheels" / "private.whl").write_bytes(b"not listed")
    listed = {WHEEL: hashlib.sha256(content).hexdigest()}
    manifest = {
        "requirement": wheel_house.REQUIREMENT,
        "targets": {f"linux-x86_64-{OWN}": [Path(WHEEL).name]},
        "files": listed,
    }
    (folder / "setup" / "setup.json").write_text(json.dumps(manifest))
    return folder


@pytest.fixture
def served(prepared: Path) -> Iterator[str]:
    """Yield the URL of the class."""
    server = ClassServer(["Ann"], prepared)
    with server.serve() as url:
        yield url
    server.close()


def raw(url: str, path: str) -> bytes:
    """Return the response to a path that is sent without normalization."""
    where = urlsplit(url)
    with socket.create_connection((where.hostname, where.port)) as connection:
        connection.sendall(f"GET {path} HTTP/1.1\r\nHost: {where.netloc}\r\nConnection: close\r\n\r\n".encode())
        return b"".join(iter(lambda: connection.recv(65536), b""))


def test_only_listed_files_are_served(served: str, tmp_path: Path) -> None:
    """No spelling of a path leads to another file of the class folder, and no file can be changed."""
    listed = httpx.get(f"{served}/setup/setup.json").json()["files"][WHEEL]
    assert hashlib.sha256(httpx.get(f"{served}/setup/{WHEEL}").content).hexdigest() == listed
    refused = [
        "class.db", "../class.db", "%2e%2e/class.db", "wheels/../../class.db", "wheels/%2e%2e%2f%2e%2e%2fclass.db", "..%5cclass.db",
        "wheels/private.whl", "//etc/passwd", "%2fetc%2fpasswd", "wheels/..", "setup.json/", "setup.json%00", "class.crt", "wheels", "wheels/", "notebooks.zip",
    ]  # fmt: skip
    answers = {path: raw(served, f"/setup/{path}").partition(b"\r\n")[0] for path in refused}

    assert set(answers.values()) == {b"HTTP/1.1 404 Not Found"}, answers
    for method in ("POST", "PUT", "DELETE", "PATCH"):
        assert httpx.request(method, f"{served}/setup/{WHEEL}").status_code == 405
    assert (tmp_path / "class" / "setup" / "wheels" / "private.whl").read_bytes() == b"not listed"


def test_no_laptop_gets_the_private_key_of_the_server(prepared: Path, tmp_path: Path) -> None:
    """The certificate file may also contain the private key, which no page of the setup shows."""
    certificate, key, both = (tmp_path / name for name in ("class.crt", "class.key", "both.pem"))
    self_signed(certificate, key, ["127.0.0.1"])
    both.write_text(key.read_text() + certificate.read_text())
    trusted = ssl.create_default_context(cafile=certificate)
    with closing(ClassServer(["Ann"], prepared)) as server, server.serve(certfile=both) as url:
        pages = [httpx.get(f"{url}/setup{name}", verify=trusted).text for name in ("", "/install.py", "/setup.json")]

    assert [page for page in pages if "PRIVATE" in page] == []
    assert repr(certificate.read_text()) in pages[1]


def test_a_reader_that_stops_is_disconnected_and_keeps_no_other(served: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A client that stops reading a large file is disconnected, and other requests are answered meanwhile."""
    monkeypatch.setattr(http_server, "BODY_TIMEOUT", 0.5)
    where = urlsplit(served)
    with socket.create_connection((where.hostname, where.port)) as connection:
        connection.sendall(f"GET /setup/{WHEEL} HTTP/1.1\r\nHost: {where.netloc}\r\n\r\n".encode())
        assert connection.recv(12) == b"HTTP/1.1 200"
        assert httpx.get(f"{served}/setup").status_code == 200
        connection.settimeout(30)
        with pytest.raises(ConnectionResetError):  # because the client does not read the file
            http_wait(connection)


def http_wait(connection: socket.socket) -> None:
    """Send bytes, and read nothing, until the server resets the connection."""
    while True:
        try:
            connection.send(b"x")
        except BrokenPipeError:
            raise ConnectionResetError from None


def test_an_unprepared_class_says_so(tmp_path: Path) -> None:
    server = ClassServer(["Ann"], tmp_path / "class")
    with server.serve() as url:
        page = httpx.get(f"{url}/setup")
        code = server.learners[0].code

        assert "workbench course prepare" in page.text
        assert httpx.get(f"{url}/{code}").text.count(f"course join {url}/{code}") == 1
        assert "Ann" not in page.text
        assert httpx.get(f"{url}/setup/setup.json").status_code == 404
    server.close()


def test_a_class_without_notebooks_is_not_prepared(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="has no notebooks"):
        list(wheel_house.prepare(tmp_path, tmp_path, ["linux"], [OWN]))


def small_wheel(folder: Path) -> None:
    """Write a small wheel in place of the workbench's, with a requirement for all systems and one for Windows."""
    folder.mkdir(exist_ok=True)
    info = f"card_issuing_workbench-{__version__}.dist-info"
    required = 'Requires-Dist: h11\nRequires-Dist: colorama; sys_platform == "win32"'
    with zipfile.ZipFile(folder / f"card_issuing_workbench-{__version__}-py3-none-any.whl", "w") as wheel:
        wheel.writestr(
            "workbench/__main__.py", "import h11, sys; print('✓ an embedded sandbox answers a call', sys.argv[1:])"
        )
        wheel.writestr(
            f"{info}/METADATA",
            f"Metadata-Version: 2.1\nName: card-issuing-workbench\nVersion: {__version__}\n{required}\n",
        )
        wheel.writestr(f"{info}/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
        wheel.writestr(f"{info}/RECORD", "")


def test_an_interrupted_run_leaves_the_former_folder_as_it_was(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """After an interrupt the former folder is unchanged. A completed run replaces it."""
    (tmp_path / "notebooks").mkdir()
    (tmp_path / "notebooks" / "01.ipynb").write_text('{"cells": []}')
    monkeypatch.setattr(wheel_house, "_build", lambda folder: folder.mkdir())
    calls: list[Path] = []

    def fetch(folder: Path, *_: object) -> None:
        calls.append(folder)
        if len(calls) == 3:
            raise KeyboardInterrupt
        folder.mkdir()
        (folder / f"pip-{len(calls)}-py3-none-any.whl").write_bytes(b"x")

    monkeypatch.setattr(wheel_house, "_fetch", fetch)
    folder = tmp_path / "class"
    list(wheel_house.prepare(folder, tmp_path / "notebooks", ["linux"], ["3.12"]))
    before = {path: path.read_bytes() for path in (folder / "setup").rglob("*") if path.is_file()}
    with pytest.raises(KeyboardInterrupt):
        list(wheel_house.prepare(folder, tmp_path / "notebooks", ["linux", "macos"], ["3.12"]))
    after = {path: path.read_bytes() for path in (folder / "setup").rglob("*") if path.is_file()}
    list(wheel_house.prepare(folder, tmp_path / "notebooks", ["macos"], ["3.12"]))

    assert before == after
    assert [*wheel_house.read_manifest(folder)["targets"]] == ["darwin-arm64-3.12"]
    assert [path.name for path in folder.iterdir()] == ["setup"]


def test_a_system_without_a_wheel_is_left_out_and_the_others_are_prepared(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The report has pip's reason. If no system can be prepared, the former folder stays."""
    index, folder, notebooks = tmp_path / "index", tmp_path / "class", tmp_path / "notebooks"
    index.mkdir()
    for name in ("pip", "h11"):
        environments.repack(name, index)
    notebooks.mkdir()
    (notebooks / "01.ipynb").write_text('{"cells": []}')
    monkeypatch.setattr(wheel_house, "_build", small_wheel)
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(index))
    requirement = wheel_house.REQUIREMENT.replace("[lab]", "")
    reported = dict(wheel_house.prepare(folder, notebooks, ["windows", "macos"], ["3.12"], requirement))
    before = (folder / "setup" / "setup.json").read_bytes()

    assert re.match("left out. No matching distribution found for colorama", reported["win32-amd64-3.12"])
    assert reported["darwin-arm64-3.12"].startswith("3 packages, ")
    assert [*json.loads(before)["targets"]] == ["darwin-arm64-3.12"]
    with pytest.raises(wheel_house.PackageMissing, match="No system was prepared"):
        list(wheel_house.prepare(folder, notebooks, ["windows"], ["3.12"], requirement))
    assert (folder / "setup" / "setup.json").read_bytes() == before


@pytest.mark.soak
@pytest.mark.parametrize("wheel", [small_wheel, environments.wheel])
def test_a_laptop_installs_from_a_class(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, wheel: Callable[[Path], object]
) -> None:
    """One line checks the certificate, installs without a package index, and tests the result.

    A copied folder installs too. `make soak` installs the workbench without extras;
    `python -m tests.classroom.offline` installs it with all of them, without a network.
    """
    index, folder = tmp_path / "index", tmp_path / "class"
    index.mkdir()
    for name in {"pip", "h11", *(environments.closure() if wheel is environments.wheel else ())}:
        environments.repack(name, index)
    here = {**SYSTEMS[SYSTEM], "tags": list(platform_tags())}  # the installed wheels can be platform-specific
    monkeypatch.setattr(wheel_house, "SYSTEMS", {**SYSTEMS, SYSTEM: here})
    monkeypatch.setattr(wheel_house, "_build", wheel)
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(index))
    requirement = wheel_house.REQUIREMENT.replace("[lab]", "")
    (fetched,) = wheel_house.prepare(folder, NOTEBOOKS, [SYSTEM], [OWN], requirement)
    assert fetched[1].startswith(("3 packages, ", "22 packages, ")), fetched

    certificate, key = folder / "class-tls.crt", folder / "class-tls.key"
    self_signed(certificate, key, ["127.0.0.1"])
    server = ClassServer(["Ann"], folder)
    own = tmp_path / "laptop"
    own.mkdir()
    with server.serve(certfile=certificate, keyfile=key) as url:
        line = line_of(httpx.get(f"{url}/setup", verify=False).text).replace("python3", f"'{BASE_PYTHON}'", 1)
        fingerprint = server.results.link(server.learners[0]).partition("#")[2]
        other = line.replace(fingerprint, "0" * 32)
        refused = subprocess.run(
            ["sh", "-c", other], cwd=own, env=laptop(own), capture_output=True, text=True, check=False
        )
        assert (refused.returncode, "not the certificate" in refused.stderr, list(own.iterdir())) == (1, True, [])
        installed = subprocess.run(
            ["sh", "-c", line], cwd=own, env=laptop(own), capture_output=True, text=True, check=False
        )
    server.close()

    assert installed.returncode == 0, installed.stdout + installed.stderr
    assert "SHA-256 of each compared" in installed.stdout
    assert len(list((own / "card-course" / "notebooks").glob("*.ipynb"))) == len(list(NOTEBOOKS.glob("*.ipynb")))

    mine = own / "card-course" / "notebooks" / "01-start-here.ipynb"
    mine.write_text("my work")
    again = environments.run(BASE_PYTHON, folder / "setup" / "install.py", cwd=own)
    assert "✓ 0 notebooks" in again
    assert mine.read_text() == "my work"
