"""Install the workbench and the course notebooks without internet access.

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
import urllib.request
import venv
import zipfile
from pathlib import Path

SERVER = ""  # URL of the files; empty if the files are in the folder of this script
CERTIFICATE = ""  # self-signed certificate of the class server, as PEM; empty for any other certificate
SOURCE = SERVER or Path(__file__).absolute().parent.as_uri()
COURSE = Path("card-course")


def read(name: str) -> bytes:
    """Return the content of a file from the class server, or from the folder of this script."""
    trusted = ssl.create_default_context(cadata=CERTIFICATE or None)
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}), urllib.request.HTTPSHandler(context=trusted))
    try:
        with opener.open(f"{SOURCE}/{name}", timeout=60) as answer:
            return bytes(answer.read())
    except OSError as error:
        sys.exit(f"✗ {SOURCE}/{name} cannot be read: {error}. Run the same command again.")


def _sha256(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def main() -> None:
    """Install the workbench and the notebooks in the folder `card-course`."""
    try:
        setup = json.loads(read("setup.json"))
    except ValueError:
        sys.exit("✗ setup.json cannot be read: ask the trainer for the link again.")
    target = f"{sys.platform}-{platform.machine().lower()}-{sys.version_info[0]}.{sys.version_info[1]}"
    names = setup["targets"].get(target)
    if names is None:
        sys.exit(
            f"✗ No packages for {target}. Available: {', '.join(setup['targets'])}. Use one of these versions of "
            "Python, or ask the trainer to add yours with `workbench course prepare`."
        )
    wheels = COURSE / "wheels"
    wheels.mkdir(parents=True, exist_ok=True)
    print(f"Reading {len(names)} packages …", flush=True)
    for name in names:
        path, expected = wheels / name, setup["files"][f"wheels/{name}"]
        if not path.is_file() or _sha256(path) != expected:
            path.write_bytes(read(f"wheels/{name}"))
        if _sha256(path) != expected:
            sys.exit(
                f"✗ {name} is damaged: its SHA-256 differs from the value in setup.json. Run the same command again."
            )
    print(f"✓ {len(names)} packages read; SHA-256 of each compared. Installing takes a minute or two.", flush=True)
    environment = COURSE / ".venv"
    venv.create(environment, symlinks=os.name != "nt")
    programs = environment.absolute() / ("Scripts" if os.name == "nt" else "bin")
    python = programs / ("python.exe" if os.name == "nt" else "python")
    (pip,) = wheels.glob("pip-*.whl")  # run from its wheel: Debian's and Ubuntu's Python has none
    command = [str(python), str(pip / "pip"), "install", "--isolated", "--no-index", "--disable-pip-version-check"]
    command += ["--quiet", "--find-links", str(wheels), "pip", setup["requirement"]]
    if subprocess.run(command, check=False).returncode:
        sys.exit("✗ pip could not install the packages; its message is above.")
    with zipfile.ZipFile(io.BytesIO(read("notebooks.zip"))) as archive:
        # existing files are not replaced, because they may contain the learner's work
        missing = [name for name in archive.namelist() if not (COURSE / name).exists()]
        archive.extractall(COURSE, missing)
    print(f"✓ {len(missing)} notebooks and pictures written to {COURSE / 'notebooks'}", flush=True)
    shutil.rmtree(wheels)
    print(f"\nNext, with the link on your learner sheet:\n  cd {COURSE}\n  {programs / 'workbench'} course join LINK")


if __name__ == "__main__":
    main()
