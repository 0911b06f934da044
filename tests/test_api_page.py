"""The examples in docs/api.md run in order, and the names in docs/reference.md are those of the code."""

import json
import re
import tomllib
from pathlib import Path
from types import ModuleType

import pandas as pd
import pytest

import workbench as wb
from docs import make_api
from workbench.runs.bulk.outcomes import BulkResult

ROOT = Path(__file__).parent.parent

PAGE = make_api.PAGE.read_text(encoding="utf-8")
EXAMPLES = (ROOT / "docs/api.md").read_text(encoding="utf-8")


def test_the_page_is_up_to_date() -> None:
    """`python docs/make_api.py` changes nothing."""
    assert make_api.page() == PAGE


def test_the_page_of_examples_is_short() -> None:
    """The examples fit into 60 lines."""
    assert len(EXAMPLES.splitlines()) <= 60


@pytest.mark.slow
def test_the_examples_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each example runs after the examples before it, in an empty folder with a file of people."""
    monkeypatch.chdir(tmp_path)
    person = json.loads((ROOT / "tests/samples/create_user_application.request.json").read_bytes())
    rows = [{**person, "email": f"ada{i}@example.com", "externalId": f"page-{i}"} for i in range(100)]
    pd.json_normalize(rows).to_csv(tmp_path / "people.csv", index=False)
    names: dict[str, object] = {}
    for block in re.findall(r"^```python\n(.*?)^```$", EXAMPLES, re.MULTILINE | re.DOTALL):
        exec(block, names)

    assert isinstance(names["result"], BulkResult)
    assert names["result"].counts == {"done": 100}


def test_every_namespace_lists_its_public_names_only() -> None:
    """`dir()` of a namespace lists its public names, each of which can be loaded and is documented."""
    spaces = [getattr(wb, name) for name in dir(wb) if isinstance(getattr(wb, name), ModuleType)]
    for space in spaces:
        for name in dir(space):
            assert not name.startswith("_"), (space.__name__, name)
            assert getattr(space, name).__doc__, (space.__name__, name)


def test_the_surface_stays_small() -> None:
    """There are at most 240 public names, 45 names on a sandbox, and 7 extras besides `dev`."""
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["optional-dependencies"]
    counts = make_api.counts()

    assert counts["api.sandbox"] <= 45
    assert sum(counts.values()) <= 240, counts
    assert len({*extras} - {"dev"}) <= 7
