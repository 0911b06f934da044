"""Texts by people may begin with a byte order mark, and errors name UTF-16, which PowerShell and Notepad can write."""

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import workbench as wb
from workbench.base.schema import strict_json
from workbench.base.system import toml
from workbench.base.system.limits import FileLimits, LimitExceeded, read_bytes
from workbench.base.system.messages import Request
from workbench.client.calls.profiles import open_profile
from workbench.sandbox.behavior import read_behavior
from workbench.sandbox.internals import internals
from workbench.sandbox.programs import read_world
from workbench.service.interface.convert import converter
from workbench.service.interface.table import OPERATIONS

MARK = b"\xef\xbb\xbf"
SEQUENCE = (Path(wb.sequences.__file__).parent / "catalogue" / "refund-full.toml").read_text(encoding="utf-8")
EVENT = wb.events.sample("user.updated").body.decode()
PURCHASE = (
    '{"cardId": "%s", "amount": 5, "currency": "USD", "merchantName": "Caf\u00e9", "merchantCategoryCode": "5411"}'
)


def answered(body: bytes, path: str) -> tuple[int, Any]:
    """Return a sandbox's answer to a body, without values that differ between calls."""
    sandbox = wb.Sandbox(seed=7)
    headers = {"api-key": sandbox.full_key, "content-type": "application/json", "host": "localhost"}
    answer = internals(sandbox).engine.answer(Request("POST", path, "", headers, body))
    return answer.status, json.loads(answer.body)


def of_file(read: Callable[[Path], Any], name: str) -> Callable[[bytes, Path], Any]:
    """Return a function that writes bytes to a file and reads the file."""

    def read_it(data: bytes, folder: Path) -> Any:
        (folder / name).write_bytes(data)
        return read(folder / name)

    return read_it


def profile_in(path: Path) -> str:
    """Return the base URL of the profile in a file."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("WORKBENCH_CONFIG", str(path))
        return open_profile("acme").base_url


CARD = wb.Sandbox(seed=7).guide()["cards"]["active"][0]
READERS: dict[str, tuple[str, Callable[[bytes, Path], Any]]] = {
    "a profile": (
        '[profiles.acme]\nbase_url = "https://api.example.com/v1"\nenvironment = "sandbox"\n',
        of_file(profile_in, "acme.toml"),
    ),
    "a behavior": ("settle_route = false\n", of_file(lambda path: read_behavior(path), "b.toml")),
    "a world": ("size = 3\n", of_file(lambda path: read_world(str(path)), "w.toml")),
    "a sequence": (SEQUENCE, of_file(lambda path: wb.sequences.read_toml(path), "s.toml")),
    "a request for --from": (
        PURCHASE % CARD,
        lambda data, _: converter().read_file(OPERATIONS["simulate_authorization"], data, "x.json"),
    ),
    "rows in JSON": ('[{"a": "\u00e9"}]', of_file(lambda path: wb.read_table(path).to_dict(), "r.json")),
    "rows in JSON lines": (
        '{"a": "\u00e9"}\n{"a": "b"}\n',
        of_file(lambda path: wb.read_table(path).to_dict(), "r.jsonl"),
    ),
    "an event log": (EVENT + "\n", of_file(lambda path: len(wb.events.read_log(path).frame()), "e.ndjson")),
    "a request body": (PURCHASE % CARD, lambda data, _: answered(data, "/v1/simulate/transactions/authorize")),
    "a delivery": (EVENT, lambda data, _: wb.Inbox(accept_unsigned=True).receive({}, data).event),
}


@pytest.mark.parametrize("name", READERS)
def test_a_byte_order_mark_changes_nothing(name: str, tmp_path: Path) -> None:
    """A text with the mark gives the same result as without the mark."""
    text, read = READERS[name]

    assert read(MARK + text.encode(), tmp_path) == read(text.encode(), tmp_path)


@pytest.mark.parametrize("codec", ["utf-16", "utf-16-le"])
@pytest.mark.parametrize("name", [name for name in READERS if not name.startswith("rows")])
def test_utf_16_is_named(name: str, codec: str, tmp_path: Path) -> None:
    """The error names the encoding and the remedy."""
    text, read = READERS[name]
    try:
        result = str(read(text.encode(codec), tmp_path))
    except (wb.WorkbenchError, ValueError) as error:
        result = f"{error} {error.__cause__}"

    assert "UTF-16" in result


@pytest.mark.parametrize("codec", ["utf-16", "utf-16-be", "utf-8-sig"])
def test_readers_of_toml_and_json_agree(codec: str) -> None:
    """Both formats report an encoding with the same text."""
    data = "a = 1".encode(codec)
    with pytest.raises(strict_json.NotJson) as caught:
        strict_json.loads(data)

    assert ("UTF-16" in str(caught.value)) is (codec != "utf-8-sig")


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no named pipes here")
def test_what_has_no_end_is_refused_as_input(tmp_path: Path) -> None:
    """A pipe without a writer is empty, a device is refused, and the limit applies during the read."""
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "large").write_bytes(b"x" * 1_001)

    assert read_bytes(tmp_path / "pipe") == b""
    for path in (Path("/dev/zero"), tmp_path / "large"):
        with pytest.raises(LimitExceeded):
            read_bytes(path, FileLimits(file=1_000))
    with pytest.raises(IsADirectoryError):
        read_bytes(tmp_path)
    with pytest.raises(toml.NotToml):
        toml.load(Path("/dev/zero"))
