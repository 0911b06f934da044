"""The page on tables says what is so."""

import pytest

from docs import make_cookbook
from tests.tables.listing import DOC, END, START, listing


def test_the_list_of_frames_is_that_of_the_code() -> None:
    """`python -m tests.tables.listing` writes it anew."""
    written = DOC.read_text().split(START)[1].split(END)[0].strip().splitlines()

    assert listing() == written


@pytest.mark.slow
def test_the_cookbook_shows_what_its_code_gives() -> None:
    """`python docs/make_cookbook.py` renews the outputs."""
    assert make_cookbook.page() == make_cookbook.PAGE.read_text(encoding="utf-8")
