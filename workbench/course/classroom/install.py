"""Install the workbench and the course notebooks without internet access, and check the installation.

The class server sends this file with its address filled in. In a copy of the folder `setup` of a class, for example on
a USB drive, `python3 install.py` reads the files next to it. The script requires only the standard library.
"""

import hashlib
import io
import json
import os
import platform
import shutil
import ssl
import subprocess
import sys
import time
import urllib.request
import venv
import zipfile
from pathlib import Path
from typing import Any

SERVER = ""  # URL of the files; if empty, they are in the folder of this script
CERTIFICATE = ""  # certificate of the class server, if the certificate is self-signed
COURSE = Path("card-course")
ATTEMPTS = 3


def read(name: str) -> bytes:
    """Return a file from the class server, or from the folder of this file."""
    if not SERVER:
        return (Path(__file__).parent / name).read_bytes()
    trusted = ssl.create_default_context(cadata=CERTIFICATE or None)
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}), urllib.request.HTTPSHandler(context=trusted))
    for attempt in range(1, ATTEMPTS + 1):
        try:
            with opener.open(f"{SERVER}/{name}", timeout=60) as answer:
                return bytes(answer.read())
        except OSError as error:
            if attempt == ATTEMPTS:
                sys.exit(f"✗ {SERVER}/{name} cannot be read: {error}")
            time.sleep(attempt)
    raise AssertionError


def answer() -> dict[str, Any]:
    """Return the description of the course from the class server or the folder."""
    try:
        setup: dict[str, Any] = json.loads(read("setup.json"))
    except ValueError:
        sys.exit("✗ setup.json is not readable: ask the trainer for the link again.")
    return setup


def main() -> None:
    """Create the environment and the notebooks in the folder `card-course`, and check both."""
    setup = answer()
    target = f"{sys.platform}-{platform.machine().lower()}-{sys.version_info[0]}.{sys.version_info[1]}"
    names = setup["targets"].get(target)
    if names is None:
        available = ", ".join(setup["targets"])
        sys.exit(
            f"✗ No packages for {target}. Available: {available}. Use one of these versions of Python, or ask the "
            "trainer to add yours with `workbench course prepare`."
        )
    wheels = COURSE / "wheels"
    wheels.mkdir(parents=True, exist_ok=True)
    for number, name in enumerate(names, 1):
        if sys.stdout.isatty():
            print(f"\r{number} of {len(names)} packages ", end="", flush=True)
        expected = setup["files"][f"wheels/{name}"]["sha256"]
        path = wheels / name
        if not (path.is_file() and hashlib.sha256(path.read_bytes()).hexdigest() == expected):
            content = read(f"wheels/{name}")
            if hashlib.sha256(content).hexdigest() != expected:
                sys.exit(
                    f"\n✗ {name} is damaged: its SHA-256 differs from that in setup.json. Run the same line again."
                )
            path.write_bytes(content)
    print(f"\r✓ {len(names)} packages read; SHA-256 of each compared. Installing takes a minute or two.", flush=True)
    environment = COURSE / ".venv"
    venv.create(environment, symlinks=os.name != "nt")
    programs = environment.absolute() / ("Scripts" if os.name == "nt" else "bin")
    python = programs / ("python.exe" if os.name == "nt" else "python")
    (pip,) = wheels.glob("pip-*.whl")  # pip runs from its wheel, because Python of Debian and Ubuntu has no pip
    options = ["--isolated", "--no-index", "--disable-pip-version-check", "--quiet", "--find-links", str(wheels)]
    wanted = ["pip", setup["requirement"]]
    if subprocess.run([str(python), str(pip / "pip"), "install", *options, *wanted], check=False).returncode:
        sys.exit("✗ pip could not install the packages; its message is above.")
    with zipfile.ZipFile(io.BytesIO(read("notebooks.zip"))) as archive:
        # files that exist are not replaced
        missing = [name for name in archive.namelist() if not (COURSE / name).exists()]
        archive.extractall(COURSE, missing)
    print(f"✓ {len(missing)} notebooks and pictures written to {COURSE / 'notebooks'}", flush=True)
    if subprocess.run([str(python), "-m", "workbench", "profiles", "check"], check=False).returncode:
        sys.exit("✗ The installed workbench does not pass its check; see above.")
    if SERVER:
        same = answer()["requirement"] == setup["requirement"]
        print(f"✓ the class server answers: {SERVER}" if same else "✗ The class server changed its version meanwhile.")
    shutil.rmtree(wheels)
    print(f"\nNext, with the link of your sheet:\n  cd {COURSE}\n  {programs / 'workbench'} course join LINK")


if __name__ == "__main__":
    main()
