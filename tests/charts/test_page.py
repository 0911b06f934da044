"""The page of charts shows every public chart with a call that runs and a small picture."""

import re
from itertools import pairwise
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import pytest
from matplotlib.axes import Axes

from workbench import charts
from workbench.service.rendering.markup import Drawing

PAGE = Path(__file__).parents[2] / "docs" / "charts.md"
TEXT = PAGE.read_text(encoding="utf-8")
GIVEN, *CALLS = re.findall(r"^```python\n(.+?)\n```$", TEXT, re.MULTILINE | re.DOTALL)
PICTURES = re.findall(r"^!\[([^\]]+)\]\((.+?)\)$", TEXT, re.MULTILINE)


@pytest.fixture(scope="module")
def given() -> dict[str, Any]:
    """Return the variables that the page's first block defines."""
    names: dict[str, Any] = {}
    exec(compile(GIVEN, str(PAGE), "exec"), names)
    return names


def test_every_chart_has_its_place_and_its_call() -> None:
    """Each public chart has a section with a call and a picture."""
    heads = [(found.start(), found[1]) for found in re.finditer(r"^### `(\w+)`$", TEXT, re.MULTILINE)]

    assert sorted(name for _, name in heads) == sorted(charts.__all__)
    for (start, name), (end, _) in pairwise([*heads, (len(TEXT), "")]):
        assert f"\nwb.charts.{name}(" in TEXT[start:end]
        assert "](images/charts/" in TEXT[start:end]


@pytest.mark.slow
@pytest.mark.parametrize("call", CALLS)
def test_a_call_runs_as_written(
    call: str, given: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each call on the page returns a chart."""
    monkeypatch.chdir(tmp_path)
    assert isinstance(eval(call, dict(given)), Axes | Drawing)


def test_the_pictures_are_those_of_the_folder() -> None:
    """Each picture in the folder is shown once on the page, has an alternative text and is small."""
    shown = [PAGE.parent / where for _, where in PICTURES]

    service = (PAGE.parent / "service.md").read_text(encoding="utf-8")  # this page shows the pictures of a year
    kept = [path for path in (PAGE.parent / "images" / "charts").iterdir() if f"charts/{path.name}" not in service]

    assert sorted(shown) == sorted(kept)
    assert all(len(words) > 20 for words, _ in PICTURES)
    for path in shown:
        assert ET.parse(path).getroot().tag.endswith("svg")
        assert path.stat().st_size < 120_000
