"""Nothing planted stands outside where it belongs (K1, K2, K3, K4, K9, K11, K14, K15, F10, X6, W17)."""

import pprint
from collections.abc import Callable
from typing import Any

import pytest

from tests.canaries.conftest import Life
from tests.canaries.planted import PLANTED, found
from workbench import faces

DUMPS: dict[str, Callable[[Any], Any]] = {
    "repr": repr, "str": str, "format": "{}".format, "percent": lambda x: "%s" % (x,),  # noqa: UP031 - one of the ways
    "pprint": pprint.pformat, "plain": faces.plain, "html": faces.html, "ipython": lambda x: x._repr_html_(),
}  # fmt: skip


def test_there_are_forty() -> None:
    """At least forty values are planted, and none is part of another but by its name."""
    assert len(PLANTED) >= 40
    assert len(set(PLANTED.values())) == len(PLANTED)


@pytest.mark.parametrize("dump", DUMPS.values(), ids=DUMPS)
def test_nothing_given_back_prints_it(life: Life, dump: Callable[[Any], Any]) -> None:
    """However what a call, a run, a plan or the journal gives back is shown, no planted value is in it (K1)."""
    leaked: dict[str, list[str]] = {}
    for name, thing in life.things.items():
        for one in (thing, *(thing if isinstance(thing, list) else ())):
            try:
                text = dump(one)
            except (AttributeError, TypeError) as error:
                text = str(error)
            leaked[name] = [*leaked.get(name, ()), *found(text, life.drawn)]

    assert {name: those for name, those in leaked.items() if those} == {}


def test_logs_hold_none(life: Life) -> None:
    """At DEBUG no logger, ours or another's, says one (K2)."""
    assert found("\n".join(life.log), life.drawn) == []


def test_files_hold_none(life: Life) -> None:
    """The journal, the runs and the kept sequence hold none, in the file or beside it; all are their owner's alone (K14)."""
    files = [one for one in life.folder.iterdir() if not one.name.startswith("inbox")]
    leaked = {one.name: found(one.read_bytes(), life.drawn) for one in files}

    assert {"journal.db", "bulk.run", "kept.run"} <= set(leaked)
    assert {name: those for name, those in leaked.items() if those} == {}
    assert {one.name for one in life.folder.iterdir() if one.stat().st_mode & 0o077} == set()
