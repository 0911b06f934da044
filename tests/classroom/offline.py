"""Install all packages from a class server on a laptop without internet: `python -m tests.classroom.offline [FOLDER]`.

The script fetches the packages for this system from the internet, unless FOLDER is a prepared class. It serves the class with a
self-signed certificate, and runs the command on its page /setup in an empty folder without environment variables, in a network
namespace with only the loopback interface (Linux, `unshare`). The installed workbench then joins with the learner's link and reads
the class sandbox. The script prints the figures.

`--load FOLDER` measures calls of ten learners to a class server with TLS, with and without ten downloads (`curl`) at 10 MB/s each,
and the memory of the server.
"""

import html
import json
import os
import re
import signal
import ssl
import subprocess
import sys
import tempfile
import time
import urllib.request
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path

import workbench as wb
from workbench.course.classroom import ClassServer, Results
from workbench.sandbox.server import self_signed

CALLED = (
    "import workbench as wb; api = wb.connect(seed=7); print(type(api.sandbox).__name__, len(api.list_contracts()))"
)
REACHED = "import socket; socket.create_connection(('192.0.2.1', 443), timeout=3)"


def line_of(page: str, program: str = "python3") -> str:
    """Return the installation command on a setup page that begins with a program's name."""
    return [
        html.unescape(line) for line in re.findall(r"<pre class='line'>(.*?)</pre>", page) if line.startswith(program)
    ][-1]


def laptop(folder: Path) -> dict[str, str]:
    """Return the environment variables of a laptop without a workbench."""
    return {"HOME": str(folder), "PATH": "/usr/bin:/bin", "LANG": "C.UTF-8"}


def trial(folder: Path) -> None:
    """Serve the class in a folder, install the workbench from the class in a new folder, and join."""
    certificate, key = folder / "class-tls.crt", folder / "class-tls.key"
    self_signed(certificate, key, ["127.0.0.1"])
    server = ClassServer(["Ann"], folder)
    with server.serve(certfile=certificate, keyfile=key) as url, tempfile.TemporaryDirectory() as own:
        trusted = ssl.create_default_context(cafile=str(certificate))
        page = urllib.request.urlopen(f"{url}/setup", context=trusted).read().decode()
        begun = time.monotonic()
        subprocess.run(["sh", "-c", line_of(page)], cwd=own, env=laptop(Path(own)), check=True)
        print(f"{time.monotonic() - begun:.0f} s from the line to the end of its check", flush=True)
        programs = Path(own, "card-course", ".venv", "bin")
        for command in (
            [programs / "workbench", "course", "join", server.results.link(server.learners[0]), "--no-lab"],
            [programs / "python", "-c", CALLED],
        ):
            print(
                subprocess.run(
                    command, cwd=programs.parents[1], env=laptop(Path(own)), check=True, capture_output=True, text=True
                ).stdout,
                end="",
            )
        count = len(json.loads((folder / "setup" / "setup.json").read_text())["files"])
        print(
            f"{count} files in the folder, {sum(file.stat().st_size for file in (folder / 'setup').rglob('*')) / 1e6:.0f} MB"
        )
    server.close()


def calls(url: str, codes: list[str], certificate: Path, seconds: float) -> list[float]:
    """Return the sorted durations, in milliseconds, of calls that each learner makes up to five times a second."""
    times: list[float] = []
    until = time.monotonic() + seconds

    def learner(code: str) -> None:
        with wb.connect(f"{url}/{code}", ca_file=certificate) as api:
            while time.monotonic() < until:
                begun = time.monotonic()
                api.list_contracts()
                times.append(1000 * (time.monotonic() - begun))
                time.sleep(0.2)

    with ThreadPoolExecutor(len(codes)) as learners:
        list(learners.map(learner, codes))
    return sorted(times)


def load(folder: Path, seconds: float = 15) -> None:
    """Measure calls without and with downloads alternately, three times each."""
    largest = max((folder / "setup" / "wheels").iterdir(), key=lambda file: file.stat().st_size)
    command = [
        sys.executable,
        "-m",
        "workbench",
        "course",
        "serve",
        "--folder",
        str(folder),
        "--learners",
        "10",
        "--self-signed",
    ]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as served:
        assert served.stdout is not None
        url = served.stdout.readline().strip()
        with closing(Results(folder / "class.db")) as results:
            codes = [learner.code for learner in results.learners()][:10]
        certificate = folder / "class-tls.crt"
        calls(url, codes, certificate, 2)
        for turn in range(6):
            download = f"while :; do curl -sS --cacert '{certificate}' --limit-rate 10M -o /dev/null '{url}/setup/wheels/{largest.name}'; done"
            laptops = [subprocess.Popen(["sh", "-c", download], start_new_session=True) for _ in range(10 * (turn % 2))]
            times = calls(url, codes, certificate, seconds)
            for each in laptops:
                os.killpg(each.pid, signal.SIGTERM)
                each.wait()
            memory = int(re.findall(r"VmRSS:\s+(\d+)", Path(f"/proc/{served.pid}/status").read_text())[0]) / 1024
            p50, p95 = times[len(times) // 2], times[int(len(times) * 0.95)]
            print(
                f"{len(laptops):2} downloads: {len(times)} calls, p50 {p50:.1f} ms, p95 {p95:.1f} ms; server {memory:.0f} MB",
                flush=True,
            )
        served.send_signal(signal.SIGINT)


def main() -> None:
    """Prepare the folder and run the installation without a network, or measure the load with `--load`."""
    if sys.argv[1:2] == ["--load"]:
        load(Path(sys.argv[2]).resolve())
        return
    if sys.argv[1:2] == ["--without-network"]:
        assert subprocess.run([sys.executable, "-c", REACHED], capture_output=True, check=False).returncode, (
            "there is a network"
        )
        trial(Path(sys.argv[2]))
        return
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(sys.argv[1] if sys.argv[1:] else scratch).resolve()
        if not (folder / "setup" / "setup.json").is_file():
            command = [
                sys.executable,
                "-m",
                "workbench",
                "course",
                "prepare",
                "--folder",
                str(folder),
                "--system",
                "linux",
            ]
            subprocess.run(command, check=True)
        inside = f"ip link set lo up && exec '{sys.executable}' -m tests.classroom.offline --without-network '{folder}'"
        raise SystemExit(
            subprocess.run(["unshare", "-rn", "sh", "-c", inside], env=dict(os.environ), check=False).returncode
        )


if __name__ == "__main__":
    main()
