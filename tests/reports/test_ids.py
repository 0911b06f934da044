"""Repeated ids are found as pandas finds them, even if different ids have the same hash."""

from unittest.mock import patch

import numpy as np
import pandas as pd
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from workbench.analysis.reports import facts
from workbench.analysis.reports.facts import repeated
from workbench.analysis.tables.rows import TEXT

TEXTS = st.one_of(
    st.lists(st.text("abA-é", max_size=3).map("{:_>20}".format), max_size=12),
    st.lists(st.text("abé", max_size=12), max_size=12),
    st.lists(st.one_of(st.none(), st.sampled_from(["a" * 36, "b" * 36, "a" * 35 + "b", "b" + "a" * 35])), max_size=12),
)


def hash_of_all(words: list[np.ndarray]) -> np.ndarray:
    """Return the same hash for each row."""
    return np.zeros(len(words[0]), "u8")


@pytest.mark.parametrize("hashes", [facts.hashes_of, hash_of_all])
@given(texts=TEXTS, start=st.integers(0, 2))
@example(texts=["x" * 8, "y" * 8, "x" * 8, "x" * 8], start=1)
@example(texts=["x" * 7, "y" * 7, "x" * 7], start=0)
@example(texts=["a" * 8 + "1" + "b" * 8, "a" * 8 + "2" + "b" * 8], start=0)
def test_ids_are_repeated_where_pandas_finds_them_again(hashes, texts, start):
    """An id is repeated if an earlier row has it, also in slices and concatenated columns."""
    for values in (pd.Series(texts, dtype=TEXT)[start:], pd.concat([pd.Series(texts, dtype=TEXT)] * 2)):
        with patch.object(facts, "hashes_of", hashes):
            again = values.duplicated() & values.notna()
            assert repeated(values).tolist() == again.tolist()


def test_ids_of_one_length_are_hashed():
    """Ids of equal length are hashed as numbers of 8 bytes."""
    ids = pd.Series([f"{number:036}" for number in range(100)], dtype=TEXT)
    assert [len(word) for word in facts.byte_columns(ids)] == [100] * 5
    assert len({*facts.hashes_of(facts.byte_columns(ids)).tolist()}) == 100
