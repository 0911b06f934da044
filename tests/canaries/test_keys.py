"""No dump of an object with a key contains the key, and stored hashes of numbers cannot be reversed by trying all numbers."""

import copy
import hashlib
import inspect
import json
import logging
import pickle
import pprint
from collections.abc import Callable, Iterator
from datetime import date
from itertools import product
from pathlib import Path
from typing import Any

import attrs
import pytest
from rich.pretty import pretty_repr

import workbench as wb
from tests.canaries.planted import OWNER, PERSON, PLANTED, found
from tests.client.doubles import URL, Service, client_on
from tests.each import each
from tests.sequences.parametrized import application
from workbench.base.keys import Key
from workbench.client.calls.base import context_of
from workbench.client.calls.key_sources import find_key
from workbench.client.calls.profiles import client_settings, open_profile
from workbench.runs.sequences import Sequence
from workbench.runs.sequences import run as run_sequence

pytestmark = pytest.mark.filterwarnings("ignore::workbench.base.errors.AdviceWarning")
KEY, SIGNING = PLANTED["api key"], PLANTED["webhook key"]
PROFILE = f'[profiles.acme]\nbase_url = "{URL}"\n'


def _refused() -> Any:
    try:
        wb.Client(base_url=URL, api_key=KEY, timeout=-1)
    except wb.errors.UsageError as error:
        return error
    raise AssertionError("nothing was refused")


HOLDERS: dict[str, Callable[[], Any]] = {
    "key": lambda: Key(KEY),
    "key that was found": lambda: find_key(open_profile("acme")),
    "client": lambda: wb.Client(base_url=URL, api_key=KEY),
    "client, key fetched": lambda: wb.Client(base_url=URL, api_key=lambda: KEY),
    "asynchronous client": lambda: wb.AsyncClient(base_url=URL, api_key=KEY),
    "session": lambda: wb.Session(base_url=URL, api_key=KEY, keys=(SIGNING,)),
    "session of a profile": lambda: wb.connect("acme"),
    "view": lambda: wb.Client(base_url=URL, api_key=KEY).allowing(again=True),
    "call": lambda: wb.Client(base_url=URL, api_key=KEY).list_contracts,
    "context of a client": lambda: context_of(wb.Client(base_url=URL, api_key=KEY)),
    "profile": lambda: open_profile("acme"),
    "settings of a client": lambda: client_settings(open_profile("acme")),
    "info": lambda: wb.Client(base_url=URL, api_key=KEY).info(),
    "inbox": lambda: wb.Inbox(keys=(SIGNING, KEY)),
    "inbox of a session": lambda: wb.Session(base_url=URL, api_key=KEY).inbox,
    "form": lambda: wb.form(wb.Session(base_url=URL, api_key=KEY).update_user),
    "panel": lambda: wb.browse(client_on(Service([]), api_key=KEY)),
    "what was refused": _refused,
}
DUMPS: dict[str, Callable[[Any], Any]] = {
    "repr": repr, "str": str, "format": "{}".format, "f-string": "{0!s:>10}".format,
    "percent": lambda x: "%s" % (x,),  # noqa: UP031 - one of the ways
    "vars": vars, "vars of vars": lambda x: [getattr(one, "__dict__", one) for one in vars(x).values()],
    "dir": lambda x: [getattr(x, name, None) for name in dir(x) if not name.startswith("__")],
    "getmembers": inspect.getmembers, "slots": lambda x: [getattr(x, name, None) for name in getattr(x, "__slots__", ())],
    "copy": copy.copy, "deepcopy": copy.deepcopy, "copied and opened": lambda x: vars(copy.copy(x)),
    "pickle": pickle.dumps, "reduce": lambda x: x.__reduce_ex__(4), "getstate": lambda x: x.__getstate__(),
    "json": lambda x: json.dumps(x, default=str), "json of vars": lambda x: json.dumps(vars(x), default=str),
    "asdict": attrs.asdict, "astuple": attrs.astuple, "pprint": pprint.pformat, "rich": pretty_repr,
    "rich of vars": lambda x: pretty_repr(vars(x)),
    "log": lambda x: logging.LogRecord("a", 10, "a", 1, "%s %r", (x, x), None).getMessage(),
}  # fmt: skip


@pytest.fixture
def profiles(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A profile with its key in an environment variable, and a state folder for the test."""
    (tmp_path / "profiles.toml").write_text(PROFILE)
    (tmp_path / "profiles.toml").chmod(0o600)
    monkeypatch.setenv("WORKBENCH_CONFIG", str(tmp_path / "profiles.toml"))
    monkeypatch.setenv("WORKBENCH_STATE", str(tmp_path / "state"))
    monkeypatch.setenv("WORKBENCH_ACME_API_KEY", KEY)
    monkeypatch.setenv("WORKBENCH_WEBHOOK_KEY", SIGNING)


@pytest.mark.slow
@each(
    "make, dump",
    product(HOLDERS.values(), DUMPS.values()),
    ids=[f"{holder}-{dump}" for holder, dump in product(HOLDERS, DUMPS)],
)
def test_no_dump_holds_a_key(make: Callable[[], Any], dump: Callable[[Any], Any], profiles: None) -> None:
    """No dump of an object that contains a key shows the key. The object may also refuse to be dumped."""
    holder = make()
    try:
        dumped = dump(holder)
        text = dumped.decode("latin-1") if isinstance(dumped, bytes) else repr(dumped)
    except Exception as error:  # noqa: BLE001 - its words are looked at
        text = repr(error)

    assert found(text) == []


def test_the_state_folder_holds_no_key(tmp_path: Path, profiles: None) -> None:
    """After a profile was used, the state folder contains the key's fingerprint but not the key."""
    with wb.connect("acme") as api:
        shown = api.info()["key_fingerprint"]
    kept = b"".join(one.name.encode() + one.read_bytes() for one in (tmp_path / "state").rglob("*") if one.is_file())

    assert shown.encode() in kept
    assert found(kept) == []


# hashes of short numbers (someone who tries all numbers can reverse such a hash)


def _hashes(number: str) -> Iterator[bytes]:
    """Yield every usual hash of the number, alone and in JSON, as somebody who tries all numbers would compute them."""
    texts = [number, f'"{number}"', json.dumps({"nationalId": number}), json.dumps({"national_id": number})]
    for name in ("md5", "sha1", "sha256", "sha512", "blake2b", "blake2s", "sha3_256"):
        for text in texts:
            digest = hashlib.new(name, text.encode()).digest()
            yield from (digest, digest.hex().encode())


def _parameters(sequence: Sequence) -> dict[str, Any]:
    flat = {**PERSON, **PERSON["address"], "birth_date": date(1917, 3, 29)}
    return {one.name: flat[one.name] for one in sequence.parameters}


def _record(folder: Path, state: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, bytes]:
    """Record the same call in a production journal, a bulk run and a stored sequence run of one installation."""
    monkeypatch.setenv("WORKBENCH_STATE", str(state))
    folder.mkdir()
    service = Service({"id": "3f2a0b1c-0000-4000-8000-000000000001"})
    with client_on(service, environment="production", journal=folder / "journal.db") as api:
        api.arm(operations={"create_user_application"}, minutes=1, reason="a test")
        api.create_user_application(**PERSON)
        digests = [entry.digest for entry in api.journal]
    with wb.connect(seed=7) as api:
        wb.bulk.run(api.create_user_application, [PERSON], path=folder / "bulk.run", progress=False)
        company = api.sandbox.guide()["companies"][0]
        owner = next(one["id"] for one in company["owners"] if one["status"] == "needsInformation")
        api.update_ubo(company_id=company["id"], ubo_id=owner, **OWNER)
    sequence = application(PERSON)
    run_sequence(wb.Sandbox(seed=3), sequence, path=folder / "kept.run", **_parameters(sequence))
    return {"digest": digests[0].encode(), **{one.name: one.read_bytes() for one in folder.iterdir()}}


def test_a_hash_of_a_number_is_keyed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No file contains an unkeyed hash of the number. Two installations have different hashes of it."""
    one = _record(tmp_path / "one", tmp_path / "state", monkeypatch)
    again = _record(tmp_path / "again", tmp_path / "state", monkeypatch)
    other = _record(tmp_path / "other", tmp_path / "elsewhere", monkeypatch)

    assert {"digest", "journal.db", "bulk.run", "kept.run"} <= set(one)
    assert [] == [name for name, raw in one.items() for digest in _hashes(PERSON["national_id"]) if digest in raw]
    assert one["digest"] == again["digest"]
    assert one["digest"] != other["digest"]
    assert one["digest"] in one["journal.db"]


@pytest.mark.parametrize("store", ["bulk.run", "kept.run"])
def test_a_run_is_known_again_by_its_installation_alone(
    store: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A run's digests depend on the installation's secret, which is not in the run's file.

    An installation with another secret therefore refuses to resume the run.
    """
    _record(tmp_path / "one", tmp_path / "state", monkeypatch)
    secrets = [
        one.read_bytes() for one in (tmp_path / "state").rglob("*") if one.is_file() and one.stat().st_size == 32
    ]
    monkeypatch.setenv("WORKBENCH_STATE", str(tmp_path / "elsewhere"))

    assert secrets
    assert all(secret not in (tmp_path / "one" / store).read_bytes() for secret in secrets)
    with pytest.raises(wb.WorkbenchError, match=r"differ from the run in|rows or the target have changed"):
        _resumed(tmp_path / "one" / store)


def _resumed(path: Path) -> None:
    with wb.connect(seed=7) as api:
        if path.name == "bulk.run":
            wb.bulk.resume(api, path, [PERSON], progress=False)
            return
    sequence = application(PERSON)
    run_sequence(wb.Sandbox(seed=3), sequence, path=path, **_parameters(sequence))
