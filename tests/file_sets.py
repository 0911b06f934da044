"""Writers of related files, killed at each step and at random moments, each in a forked process.

`python -m tests.file_sets FOLDER STRIDE RANDOM SEED NAME…` kills each set at each STRIDE-th step, prints the number of kills,
and fails at the first invalid set.
"""

import hashlib
import json
import os
import random
import re
import shutil
import signal
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import attrs
import pandas as pd

from workbench.analysis.reports.closing import Close
from workbench.analysis.tables.to_file import to_file
from workbench.course.classroom import wheel_house
from workbench.testing import Corpus

Content = dict[str, bytes]
UUID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}")


@attrs.frozen
class Set:
    """A writer of several related files.

    Attributes:
        write: Function that writes a version into a folder.
        allowed: Function that returns whether the files may exist while the second version replaces the first one.
        replaces: Whether an earlier version may exist.
    """

    write: Callable[[Path, int], object]
    allowed: Callable[[Content, Content, Content], bool]
    replaces: bool = True


def files_in(folder: Path) -> Content:
    """Return the contents of all files that are not temporary, by path."""
    found = [path for path in folder.rglob("*") if path.is_file()]
    visible = [path for path in found if not is_temporary(path.relative_to(folder))]
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in visible}


def is_temporary(path: Path) -> bool:
    """Return whether a path is in a temporary file or folder."""
    return any(part.startswith(".") and part not in (".key", ".gitignore") for part in path.parts)


def at_once(now: Content, former: Content, new: Content) -> bool:
    """Return whether all files are of one version."""
    return now in (former, new)


def with_notes(now: Content, former: Content, new: Content) -> bool:
    """Return whether the CSV has notes of its version, or no notes if it replaces a file."""
    for version in (former, new):
        if now.get("table.csv") == version.get("table.csv"):
            notes = now.get("table.csv.notes.txt")
            return notes == version.get("table.csv.notes.txt") or (bool(former) and notes is None) or not version
    return False


def as_described(now: Content, former: Content, new: Content) -> bool:
    """Return whether all files are of one version, and have the checksums in the description."""
    if not now:
        return not former
    files = json.loads(now["class/setup/setup.json"])["files"]
    wheels = {name: text for name, text in now.items() if name.endswith(".whl")}
    return (
        wheels in [{name: text for name, text in of.items() if name.endswith(".whl")} for of in (former, new)]
        and now.keys() == new.keys()
        and all(hashlib.sha256(now[f"class/setup/{name}"]).hexdigest() == files[name] for name in files)
    )


def resolvable(now: Content, former: Content, _: Content) -> bool:
    """Return whether the private file, which git ignores, contains each replaced id of the traffic."""
    lines = [line for name, text in now.items() if name.endswith(".ndjson") for line in text.splitlines()]
    if "acme/.key" not in now:
        return not lines and not former
    ids = json.loads(now["acme/.key"])["ids"]
    shown = {part for line in lines for part in UUID.findall(json.dumps(json.loads(line)))}
    return shown <= set(ids) and now.get("acme/.gitignore") == b".key\n"


def _csv(folder: Path, version: int) -> None:
    frame = pd.DataFrame({"amount": range(version, version + 5000)})
    frame.attrs["notes"] = [f"version {version}"]
    to_file(frame, folder / "table.csv", overwrite=True)


def _close(folder: Path, version: int) -> None:
    frames = {name: pd.DataFrame({"amount": [version]}) for name in ("Roll-forward", "Postings")}
    Close(month="2026-03", tz="UTC", frames=frames, statement=(), record={"version": version}).write(folder / "close")


def _prepare(folder: Path, version: int) -> None:
    notebooks = folder.with_name("notebooks")
    notebooks.mkdir(exist_ok=True)
    (notebooks / "01.ipynb").write_text(json.dumps({"cells": [], "metadata": {"version": version}}), encoding="utf-8")

    def fetch(target: Path, *_: object) -> None:
        target.mkdir()
        for name in ("pip", "workbench"):
            (target / f"{name}-1-py3-none-any.whl").write_bytes(f"{version}".encode() * 1000)

    wheel_house._build = lambda target: target.mkdir()  # type: ignore[attr-defined]
    wheel_house._fetch = fetch  # type: ignore[attr-defined]
    list(wheel_house.prepare(folder / "class", notebooks, ["linux"], ["3.12"]))


def _corpus(folder: Path, version: int) -> None:
    path = folder.with_name("calls.ndjson")
    user = f"{version:08}-0000-4000-8000-000000000001"
    call = {
        "method": "GET", "url": f"https://api.example.com/v1/issuing/users/{user}", "status": 200, "response": {"id": user}
    }  # fmt: skip
    path.write_text(f"{json.dumps(call)}\n", encoding="utf-8")
    Corpus(folder / "acme").add([path])


SETS = {
    "a CSV with its notes": Set(_csv, with_notes),
    "a close": Set(_close, at_once, replaces=False),
    "the files of a class": Set(_prepare, as_described),
    "a corpus": Set(_corpus, resolvable),
}


def _in_a_fork(act: Callable[[], object], after: float | None = None) -> bool:
    """Run in a forked process, kill it after some seconds, and return whether it had ended by then."""
    child = os.fork()
    if child == 0:
        try:
            act()
        except BaseException as error:  # noqa: BLE001 - the parent raises it
            print(type(error).__name__, error, file=sys.stderr)
            os._exit(1)
        os._exit(0)
    if after is not None:
        time.sleep(after)
        os.kill(child, signal.SIGKILL)
    _, status = os.waitpid(child, 0)
    assert not os.WIFEXITED(status) or os.WEXITSTATUS(status) == 0
    return os.WIFEXITED(status)


_STEPS = frozenset(
    {"open", "os.rename", "os.remove", "os.mkdir", "os.rmdir", "os.listdir", "ctypes.dlsym", "shutil.rmtree"}
)


def _killed_at(step: int, act: Callable[[], object]) -> None:
    count = 0

    def hook(event: str, _: Any) -> None:
        nonlocal count
        if event in _STEPS:
            count += 1
            if count == step:
                os.kill(os.getpid(), signal.SIGKILL)

    sys.addaudithook(hook)
    act()


def campaign(of: Set, folder: Path, stride: int, random_kills: int, seed: int) -> tuple[int, int]:
    """Kill the writer at each n-th step and at random moments, and return how many kills interrupted it."""
    chance, kills = random.Random(seed), [0, 0]
    folder.mkdir(parents=True)
    target = folder / "target"
    versions = (0, 1) if of.replaces else (0,)
    for earlier in versions:
        former, new = (
            ({} if not earlier else _written(of, target, [1])),
            _written(of, target, [1, 2] if earlier else [2]),
        )
        began = time.monotonic()
        _prepared(of, target, earlier)
        assert _in_a_fork(lambda: of.write(target, 2))
        lasts = time.monotonic() - began
        ended, step = False, 1 - stride
        while not ended:
            step += stride
            _prepared(of, target, earlier)
            ended = _in_a_fork(lambda step=step: _killed_at(step, lambda: of.write(target, 2)))  # type: ignore[misc]
            kills[0] += not ended
            _check(of, target, former, new, f"step {step}")
        for number in range(random_kills // len(versions)):
            _prepared(of, target, earlier)
            kills[1] += not _in_a_fork(lambda: of.write(target, 2), chance.uniform(0, lasts))
            _check(of, target, former, new, f"random kill {number}")
    return kills[0], kills[1]


def _written(of: Set, target: Path, versions: list[int]) -> Content:
    shutil.rmtree(target, ignore_errors=True)
    target.mkdir()
    for version in versions:
        of.write(target, version)
    return files_in(target)


def _prepared(of: Set, target: Path, earlier: int) -> None:
    """Create the folder as an earlier version left it."""
    saved = target.with_name(f"saved-{earlier}")
    if not saved.exists():
        _written(of, target, [1] if earlier else [])
        target.replace(saved)
    shutil.rmtree(target, ignore_errors=True)
    shutil.copytree(saved, target)


def _check(of: Set, target: Path, former: Content, new: Content, when: str) -> None:
    now = files_in(target)
    assert of.allowed(now, former, new), (when, sorted(now), sorted(former), sorted(new))
    if of.replaces or not now:
        of.write(target, 2)
        left = [path for path in target.rglob("*") if is_temporary(path.relative_to(target))]
        assert not left, (when, left)


if __name__ == "__main__":
    in_folder, numbers = sys.argv[1], [int(number) for number in sys.argv[2:5]]
    for place, name in enumerate(sys.argv[5:]):
        print(*campaign(SETS[name], Path(in_folder) / str(place), *numbers), flush=True)
