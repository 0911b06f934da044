"""SVG of each chart of the samples, compared by digest. `python -m tests.charts.test_pictures` writes pictures.txt.

A line has the chart, the drawing option, the digest of the SVG, and the alternative text. A change of any mark, label,
position, color or note changes the line: look at the new picture, then write the file again.
"""

import hashlib
from collections.abc import Iterable, Iterator
from importlib.metadata import version
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from tests.charts.test_charts import EVERY

PAGE = Path(__file__).parent / "pictures.txt"
WAYS: dict[str, dict[str, Any]] = {
    "notebook": {},
    "compact": {"size": "compact"},
    "titled": {"size": (6, 4), "title": "A title of the caller, long enough to need a second line in a small figure"},
}
HEAD = f"matplotlib {version('matplotlib')}"
NOTES = [f"Note {number} of the frame, which a chart of five notes does not show in full." for number in range(7)]


def pictures(name: str, ways: Iterable[str] = WAYS) -> Iterator[str]:
    """Yield the lines of a chart, one for each drawing option."""
    draw, make, _ = EVERY[name]
    for way in ways:
        data, options = make(), WAYS[way]
        if isinstance(data, pd.DataFrame) and way == "titled":
            data.attrs = {**data.attrs, "complete": False, "notes": [*data.attrs.get("notes", ()), *NOTES]}
        axes: Any = draw(data, **options)
        svg = str(axes._repr_html_())
        yield f"{name} | {way} | {hashlib.sha256(svg.encode()).hexdigest()[:16]} | {axes.get_label()}"


@pytest.mark.parametrize(
    "way",
    [pytest.param(way, marks=pytest.mark.soak if number else pytest.mark.slow) for number, way in enumerate(WAYS)],
)
@pytest.mark.parametrize("name", EVERY)
def test_a_picture_is_what_it_was(name: str, way: str) -> None:
    """A chart of the same frame has the same bytes, unless matplotlib's version differs."""
    head, *lines = PAGE.read_text("utf-8").splitlines()
    if head != HEAD:
        pytest.skip(f"pictures were drawn by {head}")

    assert [*pictures(name, [way])] == [line for line in lines if line.startswith(f"{name} | {way} | ")]


if __name__ == "__main__":
    PAGE.write_text("\n".join([HEAD, *(line for name in EVERY for line in pictures(name))]) + "\n", "utf-8")
