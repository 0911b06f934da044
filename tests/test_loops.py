"""Event loops of our own."""

import asyncio
import sys

import pytest

from workbench.loops import new_loop


@pytest.mark.parametrize("quick", [True, False])
def test_the_quicker_loop_where_there_is_one(monkeypatch: pytest.MonkeyPatch, quick: bool) -> None:
    """It is uvloop's where that is installed, and asyncio's elsewhere; either runs what is given to it."""
    if quick:
        pytest.importorskip("uvloop")
    else:
        monkeypatch.setitem(sys.modules, "uvloop", None)
    loop = new_loop()

    assert type(loop).__module__.partition(".")[0] == ("uvloop" if quick else "asyncio")
    assert loop.run_until_complete(asyncio.sleep(0, "done")) == "done"
    loop.close()
