"""The page on tables says what is so."""

from tests.tables.listing import DOC, END, START, listing


def test_the_list_of_frames_is_that_of_the_code() -> None:
    """`python -m tests.tables.listing` writes it anew."""
    written = DOC.read_text().split(START)[1].split(END)[0].strip().splitlines()

    assert listing() == written
