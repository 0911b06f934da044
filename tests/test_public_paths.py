"""Every public parameter that takes the path of a file or folder, found by its annotation.

For any content and any name, no error of Python or of another library is raised, and reads are limited. A new parameter has
to be added to `READERS`, `WRITERS` or `OTHERS`.
"""

import contextlib
import functools
import gzip
import inspect
import json
import random
import resource
import tempfile
import warnings
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import matplotlib.pyplot as plt
import pandas as pd
import pytest

import workbench as wb
from tests.canaries.faces import FACES
from tests.canaries.places import PLACES
from workbench.analysis.reports.history import History

Use = Callable[[Path], object]
PURCHASE = wb.sequences.from_toml("name = 'a'\n[[steps]]\nname = 'list'\ndo = 'list_contracts'\n")


LEDGER = pd.DataFrame({"transaction_id": ["a"], "net_cents": [1]})


def recorded(path: Path) -> None:
    """Record a call."""
    with wb.testing.record(session(), path):
        session().list_contracts()


@functools.cache
def session() -> Any:
    """Return a session on an embedded sandbox."""
    return wb.connect()


def with_session(use: Callable[[Any], object]) -> None:
    """Use the session."""
    use(session())


def trusting(path: Path) -> wb.Client:
    """Return a client that trusts the certificates in a file."""
    return wb.Client(base_url="https://127.0.0.1:9", api_key="k", journal=False, ca_file=path, timeout=1)


def with_answers(path: Path) -> pd.DataFrame:
    """Read a table with the answers in a file."""
    with tempfile.NamedTemporaryFile("w", suffix=".csv") as table:
        table.write("a\n1\n")
        table.flush()
        return wb.read_table(table.name, mapping=path)


KEEPER: Any = SimpleNamespace(receive=lambda headers, body: 204, books=dict)
"""An application without state."""

OF_METHODS = {"history source", "history.reconcile ledger", "history.record_balances path"}
"""Paths that are arguments of methods, or of functions that also accept other types."""
READERS: dict[str, tuple[str, Use]] = {
    "history source": (".ndjson .csv .xlsx .parquet", wb.history),
    "events.read_log paths": (".ndjson .ndjson.gz", lambda path: list(wb.events.read_log(path))),
    "course.add path": (".toml", wb.course.add),
    "sequences.read_toml path": (".toml", wb.sequences.read_toml),
    "read_table path": (".parquet .csv .xlsx .json .ndjson", wb.read_table),
    "read_table mapping": (".toml", with_answers),
    "learn paths": (".har .ndjson .db", wb.learn),
    "testing.Corpus folder": ("", lambda path: wb.testing.Corpus(path).check()),
    "testing.Corpus.add paths": (".har", lambda path: wb.testing.Corpus(path.parent / "corpus").add(path)),
    "bulk.run rows": (".csv", lambda path: with_session(lambda api: wb.bulk.run(api.simulate_refund, path, progress=False))),
    "sequences.run_many rows": (".csv", lambda path: with_session(lambda api: wb.sequences.run_many(api, PURCHASE, path))),
    "history.reconcile ledger": (".csv", lambda path: wb.history(LEDGER).reconcile(path)),
    "Sandbox world": (".toml", lambda path: wb.Sandbox(world=path).close()),
    "Sandbox behavior": (".toml", lambda path: wb.Sandbox(behavior=path).close()),
    "Client ca_file": (".pem", lambda path: trusting(path).list_contracts()),
    "Journal path": (".db", lambda path: wb.Journal(path).close()),
    "Inbox path": (".db", lambda path: wb.Inbox(path, accept_unsigned=True).close()),
    "Sandbox path": (".db", lambda path: wb.Sandbox(path=path).close()),
    "connect path": (".db", lambda path: wb.connect(path=path).close()),
    "bulk.run path": (".db", lambda path: with_session(lambda api: wb.bulk.run(api.simulate_refund, [], path=path, progress=False))),
    "bulk.resume path": (".db", lambda path: with_session(lambda api: wb.bulk.resume(api, path, [], progress=False))),
    "sequences.run path": (".db", lambda path: with_session(lambda api: wb.sequences.run(api, PURCHASE, path=path, progress=False))),
    "history.record_balances path": (".parquet", lambda path: with_session(lambda api: wb.history(api).record_balances(path))),
    "rewards.fetch path": ("", lambda path: with_session(lambda api: wb.rewards.fetch(api, api.sandbox.guide()["rewards_users"][0]["id"], path=path, progress=False))),
}  # fmt: skip
"""Functions that read an existing file, with their extensions and a call. Databases are read and written."""

WRITERS: dict[str, tuple[str, Use]] = {
    "to_file path": (".csv .xlsx .parquet", lambda path: wb.to_file(pd.DataFrame({"a": [1]}), path)),
    "testing.record path": (".ndjson", recorded),
}
"""Functions that only write a file."""

OTHERS = {
    "AsyncClient journal": "as Journal", "AsyncClient ca_file": "as Client", "Client journal": "as Journal", "connect journal": "as Journal",
    "connect ca_file": "as Client", "connect_async journal": "as Journal", "connect_async ca_file": "as Client", "connect_async path": "as connect",
    "testing.session behavior": "as Sandbox", "testing.session world": "as Sandbox", "testing.HttpApplication clock": "a file that libfaketime reads", "testing.Corpus.check behavior": "as Sandbox", "bulk.run rejects": "as to_file", "bulk.resume rejects": "as to_file",
    "Sandbox.serve certfile": "its own test",
    "Sandbox.serve keyfile": "its own test", "Inbox.serve path": "of a URL", "errors.Problem path": "of a member", "sequences.param path": "of a value",
    "sequences.ref path": "of a value", "Session inbox": "what connect makes",
    "AsyncSession inbox": "what connect makes",
    "bulk.resume rows": "as bulk.run", "read_table rejects": "as to_file", "Limits rows": "a number",
}  # fmt: skip
"""Functions that pass the path to a function above, or take another kind of path."""


def path_parameters() -> Iterator[str]:
    """Yield the public parameters that look like a path, as "function parameter"."""
    seen: list[Any] = []

    def within(owner: Any, prefix: str) -> Iterator[tuple[str, Any]]:
        for name in dir(owner):
            thing = None if name.startswith("_") else getattr(owner, name, None)
            if isinstance(thing, ModuleType):
                if thing not in seen and thing.__name__.startswith("workbench"):
                    seen.append(thing)
                    yield from within(thing, f"{prefix}{name}.")
            elif callable(thing) and not (inspect.isclass(thing) and issubclass(thing, BaseException)):
                yield prefix + name, thing
                if inspect.isclass(thing):
                    yield from within(thing, f"{prefix}{name}.")

    for name, thing in within(wb, ""):
        with contextlib.suppress(ValueError, TypeError):
            for parameter in inspect.signature(thing).parameters.values():
                of_path = any(kind in str(parameter.annotation) for kind in ("Path", "PathLike"))
                if of_path or parameter.name in ("path", "paths", "file", "folder", "rows", "mine"):
                    yield f"{name} {parameter.name}"


def test_every_path_parameter_is_tried() -> None:
    """A new public function that takes a path must be added here, and is then covered by the tests below."""
    assert {*path_parameters()} | OF_METHODS == {*READERS, *WRITERS, *OTHERS}


DATA = random.Random(29).randbytes(3_000)
CORPUS = {
    "empty": b"", "random": DATA, "null": b"\0" * 5_000, "text": b"a,b\n1,2\n", "no UTF-8": b"\xff\xfe\xfa\n" * 20, "json": b'{"a":[1,{"b":null}]}',
    "deep": b"[" * 100_000, "deep objects": b'{"a":' * 50_000, "list": b"[]", "number": b"9" * 10_000, "log": b'{"log":{"entries":[{}]}}',
    "log of numbers": b'{"log":{"entries":[1,2]}}', "log without end": b'{"log":{"entries":[{"request":{"url":"http://[","method":1}}]}}',
    "zip": b"PK\x03\x04" + DATA, "gzip": gzip.compress(b"{}\n" * 50)[:-9], "bomb": gzip.compress(b"[" * 3_000_000), "parquet": b"PAR1" + DATA + b"PAR1",
    "database": b"SQLite format 3\0" + DATA, "certificate": b"-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n", "toml": b"a = 1\n[[steps]]\n",
    "dots": b"'a'" + b".'a'" * 50_000 + b" = 1", "event": json.dumps({"id": 1, "resource": [], "action": {}, "body": "x"}).encode() + b"\n",
    "line": b"x" * 3_000_000, "quotes": b'"' * 9_999,
}  # fmt: skip
NAMES = {
    "NUL": "a\0b", "300 characters": "a" * 300, "many folders": "d/" * 3_000 + "a", "brackets": "[a", "surrogate": "a\udcff", "folder": "folder",
    "missing folder": "missing/a", "half a pair": "a\ud800",
}  # fmt: skip
USES = {
    f"{name} {ending}".strip(): (ending, use)
    for name, (endings, use) in (READERS | WRITERS).items()
    for ending in endings.split() or [""]
}


def allowed(use: Use, path: Path) -> bool:
    """Return whether a use succeeds or ends with a workbench error or an error of the file system."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            use(path)
        except wb.WorkbenchError:
            return True
        except OSError as error:  # the file is missing, or the path is a folder
            return type(error).__module__ == "builtins" and type(error) is not OSError
    return True


OF_READERS = [name for name in USES if name.rpartition(" ")[0] in READERS or name in READERS]


@pytest.mark.parametrize(
    "name, contents",
    [
        *(
            pytest.param(name, [*CORPUS][number % 2 :: 2], id=f"{name}-half", marks=pytest.mark.slow)
            for number, name in enumerate(OF_READERS)
        ),
        *(pytest.param(name, [*CORPUS], id=f"{name}-all", marks=pytest.mark.soak) for name in OF_READERS),
    ],
)
def test_no_file_raises_an_error_of_python(name: str, contents: list[str], tmp_path: Path) -> None:
    """Any content of a file is accepted, or ends in a workbench error or an error of the file system."""
    ending, use = USES[name]
    for number, (kind, data) in enumerate((kind, CORPUS[kind]) for kind in contents):
        path = tmp_path / f"{number}{ending}"
        path.write_bytes(data)
        assert allowed(use, path), kind


@pytest.mark.slow
@pytest.mark.parametrize("name", USES)
def test_no_name_of_a_file_raises_an_error_of_python(name: str, tmp_path: Path) -> None:
    """Any name of a file or folder is accepted, or ends in a workbench error or an error of the file system."""
    ending, use = USES[name]
    (tmp_path / f"folder{ending}").mkdir()
    for kind, called in NAMES.items():
        assert allowed(use, tmp_path / f"{called}{ending}"), kind


@pytest.mark.parametrize("name", [name for name in USES if name.rpartition(" ")[0] in READERS])
def test_every_reader_has_limits(name: str, tmp_path: Path) -> None:
    """A file of 8 GB is refused, or is read without loading it into memory."""
    ending, use = USES[name]
    path = tmp_path / f"large{ending}"
    with path.open("wb") as file:
        file.truncate(8 * 2**30)
    held = resource.getrlimit(resource.RLIMIT_AS)
    taken = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (taken + 3 * 2**30, held[1]))
    try:
        with pytest.raises(wb.WorkbenchError):
            use(path)
    finally:
        resource.setrlimit(resource.RLIMIT_AS, held)


SEARCHED = {
    "to_file path": ("CSV", "XLSX", "Parquet", "exports of the panel", "reports about a client"),
    "testing.Corpus folder": ("recordings and exports of calls",), "testing.record path": ("recordings and exports of calls",),
    "Journal path": ("the journal", "the journal of production"), "Inbox path": ("the inbox",), "Sandbox path": ("the state folder",),
    "connect path": ("the state folder",), "bulk.run path": ("a bulk run's file",), "bulk.resume path": ("a bulk run's file",),
    "sequences.run path": ("a kept sequence's file",), "rewards.fetch path": ("tables",), "history.record_balances path": ("Parquet",),
}  # fmt: skip
"""Tests in `tests/canaries` that search the files of each function."""


def test_every_writer_is_searched_for_private_values() -> None:
    """For each public function that writes a file, a test searches the file for planted private values."""
    written = {name for name, (endings, _) in READERS.items() if endings in (".db", "")}

    assert {*WRITERS} | written | {"history.record_balances path"} == {*SEARCHED}
    assert {place for places in SEARCHED.values() for place in places} <= {*PLACES, *FACES}


NO_REPORTS = {
    "close",
    "explain",
    "facts",
    "filter",
    "marked",
    "reading",
    "reconcile",
    "record_balances",
    "scope",
    "source",
    "until",
}
ODD_FRAMES = {
    "empty": pd.DataFrame(), "other columns": pd.DataFrame({"a": [1]}), "twice": pd.DataFrame([[1, 2]], columns=["a", "a"]),
    "numbers as names": pd.DataFrame({1: [1]}), "other types": pd.DataFrame({"id": ["x"], "kind": [3]}),
    "no times": pd.DataFrame({"kind": ["transaction.created"], "id": [None], "at": ["x"]}),
}  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("frame", ODD_FRAMES)
def test_no_frame_raises_an_error_of_pandas(frame: str) -> None:
    """Reports and charts accept or refuse a frame with missing columns, or with other columns of the same names."""
    history = partial(wb.history, ODD_FRAMES[frame])
    reports = [name for name in dir(History) if not name.startswith("_") and name not in NO_REPORTS]
    calls = [partial(lambda name: getattr(history(), name)(), name) for name in reports]
    calls.append(lambda: history().filter(at="2026-01-15").disputes())
    for name in dir(wb.charts):
        chart = getattr(wb.charts, name)
        parameters = inspect.signature(chart).parameters.values()
        required = [
            p.name for p in parameters if p.default is p.empty and p.kind not in (p.VAR_KEYWORD, p.VAR_POSITIONAL)
        ]
        calls += [partial(chart, **dict.fromkeys(required, ODD_FRAMES[frame]))] * ("path" not in required)
    for call in calls:
        try:
            call()
        except wb.WorkbenchError:
            continue
        finally:
            plt.close("all")
