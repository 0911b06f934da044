"""docs/api.md: its examples run in order, and its names are those of the code."""

import re
from pathlib import Path
from types import ModuleType

import pytest

import workbench as wb
from docs import make_api
from tests import samples

PAGE = make_api.PAGE.read_text(encoding="utf-8")


def test_the_page_is_up_to_date() -> None:
    """`python docs/make_api.py` would change nothing."""
    assert make_api.page() == PAGE


def test_the_examples_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every example runs after those before it, in an empty folder with a file of people."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "people.csv").write_text(samples.people_csv(100))
    names: dict[str, object] = {}
    for block in re.findall(r"^```python\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL):
        exec(block, names)  # noqa: S102 - the page is ours

    assert isinstance(names["result"], wb.bulk.BulkResult)
    assert names["result"].counts == {"done": 100}


def test_every_namespace_lists_its_public_names_only() -> None:
    """`dir()` of a namespace shows what people use, each loadable and documented."""
    spaces = [getattr(wb, name) for name in dir(wb) if isinstance(getattr(wb, name), ModuleType)]
    for space in spaces:
        for name in dir(space):
            assert not name.startswith("_"), (space.__name__, name)
            assert getattr(space, name).__doc__, (space.__name__, name)
