"""Forms have enough contrast in both themes, and hostile text is shown as text."""

import json
import re
from collections.abc import Mapping
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import html5lib
import ipywidgets
import pytest

import workbench
from tests.each import each
from tests.forms.conftest import below, classes
from workbench.base.schema import walk
from workbench.client.session import Session, connect
from workbench.screens.forms.widgets import css
from workbench.screens.panel.file import script
from workbench.screens.panel.panel import browse, form
from workbench.service.interface.table import OPERATIONS
from workbench.service.rendering import design

GROUNDS = ("page", "raised", "hover", "chosen")
TEXTS = ("ink", "quiet", "link", "good", "bad", "warn", "open", "other")
MARKS = ("edge", "accent")

TAGS = frozenset(
    [
        "div",
        "span",
        "table",
        "caption",
        "thead",
        "tbody",
        "tr",
        "th",
        "td",
        "bdi",
        "br",
        "strong",
        "pre",
        "style",
        "details",
        "summary",
        "h2",
        "p",
    ]
)  # HTML tags that the workbench may use
DRAWN = frozenset({"svg", "path", "rect", "circle", "text", "details"})
ATTRIBUTES = frozenset({"style", "class", "title", "scope", "role"})
HOSTILE = (
    "<img src=x onerror=alert(1)>", '"><script>alert(1)</script>', "</style><svg onload=alert(1)>",
    "' onfocus=alert(1) autofocus '", "&lt;b&gt;", "\u202egnp.exe", "[x](javascript:alert(1))", "</pre><iframe src=x>",
)  # fmt: skip


def luminance(color: str) -> float:
    """Return the relative luminance of a color, as defined by WCAG."""
    parts = [int(color[place : place + 2], 16) / 255 for place in (1, 3, 5)]
    red, green, blue = (part / 12.92 if part <= 0.03928 else ((part + 0.055) / 1.055) ** 2.4 for part in parts)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def contrast(a: str, b: str) -> float:
    """Return the contrast ratio of two colors."""
    high, low = sorted((luminance(a), luminance(b)), reverse=True)
    return (high + 0.05) / (low + 0.05)


@each("ground", GROUNDS)
@each("tokens", [design.LIGHT, design.DARK], ids=["light", "dark"])
def test_the_design_has_contrast_in_both_themes(tokens: Mapping[str, str], ground: str) -> None:
    """Text has a contrast of 4.5 to 1 on each background of its theme, including labels. Marks have 3 to 1."""
    faint = {name: contrast(tokens[name], tokens[ground]) for name in TEXTS}
    faint |= {f"{name} on a pill": contrast(tokens[name], mixed(tokens[name], tokens[ground])) for name in TEXTS}
    marks = {name: contrast(tokens[name], tokens[ground]) for name in MARKS}

    assert {} == {name: value for name, value in faint.items() if value < 4.5}
    assert {} == {name: value for name, value in marks.items() if value < 3}
    assert contrast(tokens["accent"], tokens["on-accent"]) >= 4.5
    assert contrast(tokens["on-live"], tokens["live"]) >= 4.5


def mixed(color: str, ground: str) -> str:
    """Return the background of a label: 12 percent of its color."""
    parts = [(int(color[at : at + 2], 16), int(ground[at : at + 2], 16)) for at in (1, 3, 5)]
    return "#" + "".join(f"{round(0.12 * top + 0.88 * under):02x}" for top, under in parts)


@each("name", ["bad", "warn", "good", "quiet"])
@each("tokens", [design.LIGHT, design.DARK], ids=["light", "dark"])
def test_forms_use_the_design(tokens: Mapping[str, str], name: str) -> None:
    """The style sheet of forms uses the colors of the design."""
    assert f"--wb-{name}:{tokens[name]};" in css("forms/forms", ".wb-root")


EXCEPTIONS = {
    ("board.css", "#fff"): "a code that cameras read is black on white in both themes",
    ("board.css", "font-size: 10px"): "a class of twenty fits the width of a sheet",
    ("board.css", "padding: 56px"): "the margin of a certificate on paper",
    ("board.css", "font-size: 30px"): "the course on a certificate",
    ("board.css", "font-size: 44px"): "the name on a certificate",
    ("file.css", "font-size: 9px"): "ten columns fit the width of a sheet",
} | {
    ("forms.css", text): "spaces of a form that are not on the grid of 4 pixels yet"
    for text in (
        "gap: var(--wb-s2) 18px",
        "margin: 6px",
        "padding: 2px 0 2px 10px",
        "padding: var(--wb-s2) var(--wb-s3) 10px",
    )
}
"""Values in style sheets that are not design tokens, with reasons."""


def test_style_sheets_use_the_tokens() -> None:
    """Colors, font sizes, spaces and radii are design tokens. A space below 4 pixels is the width of a line."""
    files = Path(workbench.__file__).parent
    sheets = {path.name: path.read_text(encoding="utf-8") for path in files.rglob("*.css")}
    for name in ("sandbox/page.py", "analysis/tables/packs.py"):
        sheets[name] = (files / name).read_text(encoding="utf-8")
    colors = r"#[0-9a-fA-F]{3,8}\b(?![-\w])"
    sizes = r"(?:font|font-size|padding|margin|gap|border-radius)(?:-\w+)?: ?[^;{}]*?\b(?:[4-9]|\d\d+)(?:\.\d+)?px"

    written = {(name, text) for name, sheet in sheets.items() for text in re.findall(f"{colors}|{sizes}", sheet)}

    assert written == set(EXCEPTIONS)


def puts_in_a_cell(attributes: dict[str, str | None]) -> bool:
    """Return whether a button only writes a text into a new cell."""
    asked = json.loads(attributes.pop("data-commandlinker-args") or "{}")
    text = asked.get("args", {}).get("text")
    wanted = {
        "commands": ["notebook:insert-cell-below", "notebook:replace-selection"], "args": {"text": text},
    }  # fmt: skip
    return (
        asked == wanted
        and isinstance(text, str)
        and attributes.pop("data-commandlinker-command") == "apputils:run-all-enabled"
        and set(attributes) == {"type", "class", "title"}
    )


class Found(HTMLParser):
    """The tags and attributes in HTML."""

    def __init__(self) -> None:
        super().__init__()
        self.odd: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Record tags and attributes that are not allowed. One button may run a single JupyterLab command."""
        if tag == "button" and puts_in_a_cell(dict(attrs)):
            return
        if tag in DRAWN and not any(name.startswith("on") or "href" in name for name, _ in attrs):
            return  # this is the state diagram, which tests/rendering/test_states.py checks
        self.odd += [tag] if tag not in TAGS else []
        self.odd += [f"{tag} {name}" for name, _ in attrs if name not in ATTRIBUTES]


def odd(widget: Any) -> list[str]:
    """Return the tags and attributes that are not allowed, in all HTML below a widget."""
    found = Found()
    for one in below(widget):
        if isinstance(one, ipywidgets.HTML):
            found.feed(one.value)
    return found.odd


@pytest.mark.slow
@pytest.mark.parametrize("text", HOSTILE)
def test_hostile_text_is_text_in_forms_and_panels(api: Session, purchase: dict[str, Any], text: str) -> None:
    """Markup in input, answers and events is displayed as text."""
    made = form(api.simulate_authorization, **{**purchase, "merchant_name": text}).allow("unusual_text")
    before = odd(made.widget)
    made.submit()
    panel = browse(api)
    for name in ("contracts", "transactions", "events", "requests"):
        panel.open(name)
    parser = Found()
    parser.feed(made.html + panel.html)

    assert [] == before + odd(made.widget) + parser.odd


@pytest.mark.slow
@pytest.mark.parametrize("name", [name for name, one in OPERATIONS.items() if walk.members(one.request)])
def test_hostile_text_in_any_field_is_text(api: Session, name: str) -> None:
    """Markup typed into any text field is displayed as text next to it, below it and in static HTML."""
    made = form(getattr(api, name))
    texts = [path for path, leaf in made.draft.leaves.items() if isinstance(leaf.member.kind, walk.Text)]
    found = []
    for text in HOSTILE:
        for path in texts:
            made.view.inputs.fields[path].input.value = text
        made.view.button.click()
        found += odd(made.widget) + foreign(made.html)
    made.close()

    assert texts
    assert [] == found


def foreign(html: str) -> list[str]:
    """Return the tags and attributes that a browser's parser finds and that are not allowed, at any depth."""
    tree = html5lib.parseFragment(html, namespaceHTMLElements=False)
    return [str(one.tag) for one in tree.iter() if one.tag not in TAGS | {"DOCUMENT_FRAGMENT"}]


def test_html_is_made_by_our_rendering_alone() -> None:
    """No module uses functions that insert data into HTML or create links from it.

    pandas creates the table of a frame from escaped cells (tests/tables/test_display.py).
    """
    wrong = re.compile(
        r"Styler|\.style\.(format|set_|map|apply)|render_links|(?<!table = frame)\.to_html\(|\.to_markdown\(|Markdown\("
    )
    sources = Path(workbench.__file__).parent.rglob("*.py")
    found = [f"{file.name}: {line.strip()}" for file in sources for line in file.read_text().splitlines()
             if wrong.search(line)]  # fmt: skip

    assert [] == found


@pytest.mark.parametrize("where", ["sandbox", "production"])
def test_a_form_names_where_it_works(where: str) -> None:
    """A live form and its static HTML show environment and key. Production has a separate color."""
    with connect(seed=7, environment=where) as api:
        made = form(api.update_user)
        key = api.info()["key_fingerprint"]
    head = next(part.value for part in below(made.widget) if "wb-head" in classes(part))

    for text in (head, made.html):
        assert where.upper() in text
        assert key in text
    assert f"wb-where-{where}" in head
    assert (where == "production") == ("wb-production" in classes(made.widget))


def test_the_panel_names_where_it_works() -> None:
    """A live panel and its static HTML show environment and key."""
    for where in ("sandbox", "production"):
        with connect(seed=7, environment=where) as api:
            panel = browse(api)
            start = panel.answer({"do": "start"})
            key = api.info()["key_fingerprint"]

        assert (where, key) == (start["environment"], start["key"])
        assert where.upper() in panel.html
        assert key in panel.html


def test_a_page_sets_text_as_text_alone() -> None:
    """The panel's script has no code that creates markup from text, evaluates text, or loads from a URL."""
    text = script("file").replace('"http://www.w3.org/2000/svg"', "")  # the address of the XML namespace is not a link
    ways = r"innerHTML|outerHTML|insertAdjacent|document\.write|eval\(|Function\(|DOMParser|createContextual|fetch\(|XMLHttp|import\(|WebSocket|https?://|srcdoc|\.src\b|\.href\b"

    assert [] == re.findall(ways, text)
    assert len(text.encode()) <= 90_000


def test_static_html_stands_beside_the_widget(api: Session) -> None:
    """Forms and panels provide HTML and plain text, with the environment, for viewers without widgets."""
    for shown in (form(api.simulate_refund), browse(api)):
        made = shown._repr_mimebundle_()

        assert {"text/html", "text/plain", "application/vnd.jupyter.widget-view+json"} == set(made)
        assert "SANDBOX" in made["text/html"]
        assert "wb-root" not in made["text/html"]
