"""Repeated ids are found as pandas finds them, even if different ids have the same hash."""

import re
import uuid
from unittest.mock import patch

import numpy as np
import pandas as pd
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from workbench.analysis.reports import facts
from workbench.analysis.reports.facts import repeated
from workbench.analysis.reports.source_columns import ids_of
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


UUIDS = st.uuids().map(str)
WRITTEN = st.one_of(
    UUIDS, UUIDS.map(str.upper), UUIDS.map(" {}".format), UUIDS.map("{}\t".format), st.text("aA -\u00a0é", max_size=12)
)


@given(ids=st.lists(WRITTEN, min_size=1, max_size=8), start=st.integers(0, 2))
@example(ids=["a" * 35 + " ", " " + "a" * 35], start=0)
@example(ids=["a" * 20, "a" * 19 + "A"], start=0)
def test_plain_ids_are_not_changed(ids, start):
    """Ids that the quick check calls plain are the same without spaces around them and in lower case."""
    for values in (pd.Series(ids, dtype=TEXT)[start:], pd.concat([pd.Series(ids, dtype=TEXT)] * 2)):
        if facts.are_plain(values):
            assert values.str.strip().str.lower().tolist() == values.tolist()
    for text in ids:
        is_uuid = re.fullmatch("[0-9A-F]{8}-(?:[0-9A-F]{4}-){3}[0-9A-F]{12}", text.strip())
        found = ids_of(pd.DataFrame({"id": pd.Series([text], dtype=TEXT)}), ["id"])["id"][0]
        assert found == (text.strip().lower() if is_uuid else text.strip())


def test_ids_of_the_service_are_plain():
    """UUIDs in lower case, also in several chunks, are plain; UUIDs in capitals are not."""
    ids = pd.Series([str(uuid.UUID(int=number)) for number in range(0, 2**64, 2**60)], dtype=TEXT)
    both = pd.concat([ids, ids[:0], ids])
    assert facts.are_plain(both)
    assert not facts.are_plain(both.str.upper())
    assert ids_of(pd.DataFrame({"id": both.str.upper() + " "}), ["id"])["id"].tolist() == both.tolist()


def test_ids_of_one_length_are_hashed():
    """Ids of equal length are hashed as numbers of 8 bytes."""
    ids = pd.Series([f"{number:036}" for number in range(100)], dtype=TEXT)
    assert [len(word) for word in facts.byte_columns(ids)] == [100] * 5
    assert len({*facts.hashes_of(facts.byte_columns(ids)).tolist()}) == 100
