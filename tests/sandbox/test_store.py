"""The store's nested transactions, compared with copies of dictionaries."""

import tempfile
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from workbench.sandbox.store import FileStore, Store

STEPS: Any = st.recursive(
    st.tuples(st.sampled_from(["put", "delete"]), st.sampled_from("ab"), st.integers(0, 3)),
    lambda inner: st.tuples(st.sampled_from(["kept", "failed"]), st.lists(inner, max_size=5)),
    max_leaves=20,
)


class _Failed(Exception):
    pass


def _play(store: Store, held: dict[str, int], step: Any) -> dict[str, int]:
    if step[0] == "put":
        store.put("kind", step[1], step[2])
        return {**held, step[1]: step[2]}
    if step[0] == "delete":
        if step[1] in held:
            store.delete("kind", step[1])
        return {key: value for key, value in held.items() if key != step[1]}
    inner = held
    try:
        with store:
            for one in step[1]:
                inner = _play(store, inner, one)
            if step[0] == "failed":
                raise _Failed
    except _Failed:
        return held
    return inner


@given(st.lists(st.tuples(st.sampled_from(["kept", "failed"]), st.lists(STEPS, max_size=5)), max_size=5))
def test_transactions_within_transactions(steps: list[Any]) -> None:
    """Each nested transaction is stored or rolled back completely and separately."""
    store = Store()
    held: dict[str, int] = {}
    for step in steps:
        held = _play(store, held, step)
        assert store.copy().get("kind", {}) == held


KINDS = ("kind", "event", "meta", "kind/part")
ACTS = st.one_of(
    st.tuples(st.just("put"), st.sampled_from(KINDS), st.integers(1, 9), st.integers(0, 3)),
    st.tuples(st.just("delete"), st.sampled_from(KINDS), st.integers(1, 9), st.none()),
    st.tuples(st.just("fill"), st.sampled_from(KINDS), st.integers(1, 9), st.integers(0, 3)),
    st.tuples(st.just("copy"), st.sampled_from(KINDS), st.sampled_from(KINDS), st.none()),
    st.tuples(st.just("read"), st.sampled_from(KINDS), st.integers(1, 9), st.none()),
)


def _act(store: Store, act: Any) -> Any:
    what, kind, key, value = act
    if what == "put":
        store.put(kind, str(key), {"is": value})
    elif what == "delete" and store.get(kind, str(key)) is not None and kind != "event":
        store.delete(kind, str(key))
    elif what == "fill":
        store.fill(kind, {str(key): {"is": value}})
    elif what == "copy" and kind != key:
        store.copy_kind(kind, key)
    return (
        store.get(kind, str(key)), store.count(kind), sorted(store.items(kind)), sorted(store.items(kind, newest=True)),
        store.until(kind, str(key), 3) if kind != "event" and kind != "meta" else None,
    )  # fmt: skip


TRANSACTIONS = st.tuples(
    st.sampled_from(["kept", "failed"]),
    st.lists(
        st.recursive(ACTS, lambda inner: st.tuples(st.sampled_from(["kept", "failed"]), st.lists(inner, max_size=4)))
    ),
)


def _run(store: Store, step: Any) -> Any:
    if len(step) == 4:
        return _act(store, step)
    try:
        with store:
            found = [_run(store, one) for one in step[1]]
            if step[0] == "failed":
                raise _Failed
    except _Failed:
        pass
    return found


@pytest.mark.slow
@given(st.lists(st.tuples(TRANSACTIONS, st.integers(0, 1)), max_size=8))
def test_a_file_is_the_same_as_memory(steps: list[Any]) -> None:
    """Two stores on a file and one in memory agree after each step, also after failed nested transactions."""
    with tempfile.TemporaryDirectory() as folder:
        files = [FileStore(Path(folder) / "s.db", recent=3) for _ in range(2)]
        memory = Store()
        for step, number in steps:
            before, counted = _values(memory), (memory.changes, files[number].changes)
            assert _run(files[number], step) == _run(memory, step)
            for file in files:
                with file:
                    assert _values(file) == _values(memory)
            if before != _values(memory):
                assert (memory.changes, files[number].changes) == tuple(count + 1 for count in counted)
            assert files[0].changes == files[1].changes
        for file in files:
            file.close()
        with FileStore(Path(folder) / "s.db") as again:
            assert _values(again) == _values(memory)
        again.close()


def _values(store: Store) -> dict[str, dict[str, Any]]:
    """Return the values of a store, without the number of changes, which may count a change to the same value."""
    return {kind: values for kind, values in store.copy().items() if kind != "changes"}
