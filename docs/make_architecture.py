"""Draw docs/images/architecture.svg, the layers of the packages as pyproject.toml states them: `python docs/make_architecture.py`."""

import re
import tomllib
from collections.abc import Iterator
from html import escape
from itertools import pairwise
from pathlib import Path

ROOT = Path(__file__).parent.parent
PICTURE = ROOT / "docs" / "images" / "architecture.svg"

PURPOSES = {
    "events": "read events",
    "records": "the types",
    "terminal": "commands and shell",
    "course": "exercises",
    "testing": "proves an application",
    "forms": "forms",
    "panel": "panel, dashboard",
    "charts": "drawings",
    "sequences": "scripted transactions",
    "reports": "reports, event logs",
    "bulk": "many calls",
    "rewards": "reads of any size",
    "tables": "DataFrames, exports",
    "commands": "operations at a prompt",
    "session": "connect()",
    "health": "troubles, by cause",
    "client": "sends one call",
    "sandbox": "answers calls",
    "webhooks": "receives events",
    "withdrawals": "plans and checks",
    "rendering": "text and HTML",
    "chains": "addresses, signatures",
    "interface": "the service as data",
    "schema": "declared records",
    "system": "this machine",
    "errors": "exception classes",
    "lazy": "public names",
    "extras": "optional libraries",
    "renamed": "names of 0.2",
    "remedies": "what to do, for each interface",
}
MEETINGS = {("client", "sandbox"): "request", ("sandbox", "webhooks"): "delivery"}
"""Packages of one layer that exchange bytes, without importing each other."""
WIDTH, GAP, MARGIN, SPACE = 820, 60, 16, 10
LOW, HIGH = 26, 42  # of a layer with one package, and with several
TINTS = ("#e8eef7", "#e6f2ea", "#fbf1de", "#f6e6e4")
STYLE = """<style>
text{text-anchor:middle;fill:#3a424d} .left{text-anchor:end} .right{text-anchor:start}
.name{font-weight:bold;font-size:13px;fill:#1b2230} .label{font-size:10px}
.bytes{stroke:#a5432d;stroke-width:1.5}
</style>
<defs><marker id="head" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7" orient="auto">
<polygon points="0,0 8,4 0,8" fill="#a5432d"/></marker></defs>"""


def layers() -> list[list[str]]:
    """Return the packages of each layer, the highest first."""
    contracts = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["importlinter"][
        "contracts"
    ]
    (stated,) = [contract["layers"] for contract in contracts if contract["type"] == "layers"]
    return [re.findall(r"\w+", layer) for layer in stated if layer != "(__main__)"]


def box_height(names: list[str]) -> int:
    """Return the height of a layer's boxes: two lines of text where several stand side by side."""
    return LOW if len(names) == 1 else HIGH


def boxes(names: list[str], top: int, tint: str) -> Iterator[str]:
    """Yield the boxes of one layer, and the arrows between those that exchange bytes."""
    gap = GAP if any(pair in MEETINGS for pair in pairwise(names)) else SPACE
    width, height = (WIDTH - 2 * MARGIN - gap * (len(names) - 1)) / len(names), box_height(names)
    for at, name in enumerate(names):
        left, line = MARGIN + at * (width + gap), top + 17
        middle = left + width / 2
        yield f'<rect x="{left:.0f}" y="{top}" width="{width:.0f}" height="{height}" rx="5" fill="{tint}" stroke="#5b6573"/>'
        if len(names) == 1:  # name and purpose side by side
            yield f'<text x="{middle - 8:.0f}" y="{line}" class="name left">{name}</text>'
            yield f'<text x="{middle + 8:.0f}" y="{line}" class="right">{escape(PURPOSES[name])}</text>'
            continue
        yield f'<text x="{middle:.0f}" y="{line}" class="name">{name}</text>'
        yield f'<text x="{middle:.0f}" y="{line + 15}">{escape(PURPOSES[name])}</text>'
        if label := MEETINGS.get((name, names[at + 1] if at + 1 < len(names) else "")):
            start, end, level = left + width + 3, left + width + gap - 3, top + height // 2
            yield f'<line x1="{start:.0f}" y1="{level}" x2="{end:.0f}" y2="{level}" class="bytes" marker-end="url(#head)"/>'
            yield f'<text x="{(start + end) / 2:.0f}" y="{level - 6}" class="label">{label}</text>'


def picture() -> str:
    """Return the drawing as SVG."""
    rows = layers()
    height = sum(box_height(names) + SPACE for names in rows) - SPACE + 2 * MARGIN
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" font-family="sans-serif" font-size="11">',
        "<title>The packages in layers; each imports only from layers below it</title>",
        STYLE,
        f'<rect width="{WIDTH}" height="{height}" fill="white"/>',
    ]
    session = next(at for at, names in enumerate(rows) if "session" in names)
    top = MARGIN
    for at, names in enumerate(rows):
        tint = TINTS[0] if at < session else TINTS[1] if at == session else TINTS[2] if at == session + 1 else TINTS[3]
        lines += boxes(names, top, tint)
        top += box_height(names) + SPACE
    return "\n".join([*lines, "</svg>"]) + "\n"


if __name__ == "__main__":
    PICTURE.write_text(picture(), encoding="utf-8")
