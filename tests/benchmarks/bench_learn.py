"""Measure a HAR file of calls with different ids: how fast it is read, learned from and added to a corpus, and the memory.

Run: python -m tests.benchmarks.bench_learn [MEGABYTES]. The default is 40; figures.md has the figures for 1000.
"""

import json
import re
import resource
import subprocess
import sys
import time
from pathlib import Path
from tempfile import TemporaryDirectory

from tests.testing.services import Har, Traffic, in_process
from workbench.sandbox import Sandbox
from workbench.testing import Corpus
from workbench.testing.learning import learn
from workbench.testing.recorded import Reading, read_traffic

_UUID = re.compile(rb"[0-9a-f]{8}(?=-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12})")
_FLOOR = 40_000_000  # maximum bytes of the file that json.loads reads as a baseline


def write(path: Path, size: int) -> None:
    """Write a HAR file of at least `size` bytes that repeats the same calls, each time with different ids."""
    sandbox, har = Sandbox(seed=7), Har()
    Traffic(sandbox, in_process(sandbox), har).run()
    entries = [json.dumps(entry).encode() for entry in har.entries if entry["request"]["bodySize"] < 100_000]
    calls = b", ".join(entries)
    with path.open("wb") as file:
        file.write(b'{"log": {"version": "1.2", "creator": {"name": "proxy", "version": "1"}, "entries": [' + calls)
        number = 0
        while file.tell() < size:
            number += 1
            file.write(b", " + _UUID.sub(lambda match, by=number: b"%08x" % ((int(match[0], 16) + by) % 2**32), calls))
        file.write(b"]}}")


def read(path: Path) -> int:
    """Read a file, and return the number of its calls."""
    return sum(1 for _ in read_traffic([path], {}, Reading()))


def learned(path: Path) -> int:
    """Learn from a file, and return the number of its calls."""
    return learn(path).counts["exchanges"]


def add(path: Path) -> int:
    """Add a file to a corpus, and return the number of its calls."""
    with TemporaryDirectory() as folder:
        return Corpus(folder).add(path).counts["exchanges"]


def measure(name: str, path: Path) -> None:
    """Run one task on a file in this process, and print its speed and the added memory."""
    run = {"read": read, "learn": learned, "add": add}[name]
    run(path.with_name("small.har"))  # warm up, so that the modules are loaded
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    began = time.process_time()
    calls = run(path)
    seconds = time.process_time() - began
    more = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024
    size = path.stat().st_size / 1e6
    print(
        f"{name:10} {size:6,.0f} MB {calls:9,} calls {seconds:7.1f} s {size / seconds:6.1f} MB/s +{more:.0f} MB of memory"
    )


def floor(path: Path) -> None:
    """Print the speed of json.loads on the beginning of the file."""
    with path.open("rb") as file:
        data = file.read(_FLOOR)
    part = data[: data.rindex(b', {"startedDateTime"')] + b"]}}"
    began = time.process_time()
    json.loads(part)
    seconds = time.process_time() - began
    print(f"json.loads {len(part) / 1e6:.0f} MB {seconds:.1f} s {len(part) / 1e6 / seconds:.1f} MB/s")


def main() -> int:
    """Write a file, and measure each task in a separate process."""
    if sys.argv[2:]:
        name, path = sys.argv[1], Path(sys.argv[2])
        floor(path) if name == "floor" else measure(name, path)
        return 0
    size = int(sys.argv[1] if sys.argv[1:] else 40) * 1_000_000
    with TemporaryDirectory() as folder:
        path = Path(folder) / "calls.har"
        write(path.with_name("small.har"), 1)
        write(path, size)
        for task in ("floor", "read", "learn", "add", "floor"):
            subprocess.run([sys.executable, "-m", "tests.benchmarks.bench_learn", task, str(path)], check=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
