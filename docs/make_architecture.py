"""Draw docs/images/architecture.svg, the layers that pyproject.toml states, and write the counts of docs/architecture.md.

Run: python docs/make_architecture.py
"""

import ast
import re
import tomllib
from collections.abc import Iterator
from html import escape
from itertools import pairwise
from pathlib import Path

ROOT = Path(__file__).parent.parent
PICTURE = ROOT / "docs" / "images" / "architecture.svg"
PAGE = ROOT / "docs" / "architecture.md"
TARGET = 230_000

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


FEATURES: dict[str, tuple[str, str]] = {
    "a class on one server, board, exam, grading, offline setup": ("34", "course/classroom/* course/joining course/membership course/trainer"),
    "simulated universes of an application, behind HTTP too; replay of a log on two versions": (
        "31",
        "testing/decisions testing/deliveries testing/evidence_files testing/exploring testing/http_application testing/life testing/loop testing/process testing/regression testing/universe",
    ),
    "listing, explanations and the HTML file of the panel": ("35", "panel/details panel/explanation panel/listing panel/lists panel/page"),
    "learning from traffic": ("32", "testing/learning testing/observations"),
    "postings, reconciliation, explanations, checks of data, close of a month, workbooks": (
        "33",
        "reports/closing reports/data_checks reports/explanations reports/posting_rows reports/reconciliation reports/scope reports/traces tables/packs",
    ),
    "exercises, quizzes": ("34", "course/checks course/learner course/quiz_view"),
    "drills": ("27, 34", "course/debrief course/drill_run course/drills course/incidents"),
    "the strict and the fast reader of event logs": ("27", "reports/event_logs reports/log_lines"),
    "tools for agents": ("29, 30, 34", "testing/agent_tools testing/skill"),
    "cleaning of refused answers, health": ("29, 30, 35", "client/cleaning health"),
    "comparing sandboxes": ("27", "testing/comparing"),
    "four exports": ("27", "testing/exports"),
    "flipped assumptions, strategies for Hypothesis": ("31", "testing/flips testing/strategies"),
    "a world from a log or frame": ("32", "reports/worlds"),
    "generated traffic": ("27", "testing/generated"),
    "the screen of `events watch`": ("–", "terminal/watch"),
    "forms in steps, filled from a person or a file": ("35", "forms/filling forms/steps"),
    "reads on a cluster": ("27", "rewards/cluster"),
}  # fmt: skip
"""Modules that serve one feature, and the issue that asks for it or says that it stays."""


def nodes(pattern: str) -> int:
    """Return the nodes of the syntax trees of modules, without `Load`, `Store` and `Del`."""
    files = sorted((ROOT / "workbench").glob(f"{pattern}.py"))
    if not files:
        raise SystemExit(f"no module {pattern}")
    trees = (ast.walk(ast.parse(file.read_bytes())) for file in files)
    return sum(not isinstance(node, ast.Load | ast.Store | ast.Del) for tree in trees for node in tree)


def features() -> Iterator[str]:
    """Yield the table of what each feature costs, and what the target would take of them."""
    costs = {feature: sum(map(nodes, modules.split())) for feature, (_, modules) in FEATURES.items()}
    excess, total = nodes("**/*") - TARGET, sum(costs.values())
    yield "| Feature | Issue | Nodes |\n|---|---|---:|"
    for feature, count in sorted(costs.items(), key=lambda cost: -cost[1]):
        yield f"| {feature} | {FEATURES[feature][0]} | {count:,} |"
    yield f"| all of them | | {total:,} |\n"
    yield f"The target of {TARGET:,} is {excess:,} nodes fewer: {100 * excess / total:.0f} % of what all these features have."


def counted(page: str) -> str:
    """Return the page with the present numbers of nodes and files: features, packages and the sum."""
    before, start, rest = page.partition("<!-- features: python docs/make_architecture.py writes this table -->\n")
    _, end, after = rest.partition("\n<!-- features: end -->")
    page = before + start + "\n".join(features()) + end + after
    folders = {
        f"`{path.relative_to(ROOT / 'workbench')}`": path for path in (ROOT / "workbench").rglob("*") if path.is_dir()
    }
    for name, path in {**folders, "modules of the top folder": ROOT / "workbench"}.items():
        deep = path.name not in {"workbench", "course"}
        pattern = str((path / ("**/*" if deep else "*")).relative_to(ROOT / "workbench"))
        files = len(list((ROOT / "workbench").glob(f"{pattern}.py")))
        if files:
            page = re.sub(
                rf"(?m)^(\| {re.escape(name)} \|[^|]*\d[^|]*\||\| {re.escape(name)} \| – \|) [\d,]+, \d+ \|$",
                rf"\g<1> {nodes(pattern):,}, {files} |",
                page,
            )
    page = re.sub(r"(?m)^(\| nodes \| [\d,]+ \|) [\d,]+", rf"\g<1> {nodes('**/*'):,}", page)
    files = len(list((ROOT / "workbench").rglob("*.py")))
    return re.sub(r"(?m)^(\| files \| [\d,]+ \|) [\d,]+", rf"\g<1> {files}", page)


if __name__ == "__main__":
    PICTURE.write_text(picture(), encoding="utf-8")
    PAGE.write_text(counted(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
