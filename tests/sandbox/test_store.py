"""The store's transactions, one within another, against copies of dictionaries."""

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from workbench.sandbox.store import Store

STEPS = st.recursive(
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
    """Each is kept whole or undone whole, alone, at any depth."""
    store = Store()
    held: dict[str, int] = {}
    for step in steps:
        held = _play(store, held, step)
        assert store.copy().get("kind", {}) == held
