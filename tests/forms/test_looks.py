"""How forms look: readable in both themes (contrast counted), hostile text harmless everywhere."""

import json
import re
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import html5lib
import ipywidgets
import pytest

import workbench
from tests.forms.conftest import below
from workbench.forms import style
from workbench.forms.browse import browse
from workbench.forms.bulk_panel import panel as bulk_panel
from workbench.forms.form import form
from workbench.forms.pager import Pager
from workbench.forms.work import Work
from workbench.interface import walk
from workbench.interface.table import OPERATIONS
from workbench.session import Session, connect

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
    ]
)  # all that stands in our HTML
ATTRIBUTES = frozenset({"style", "class", "title", "scope", "role"})
HOSTILE = (
    "<img src=x onerror=alert(1)>", '"><script>alert(1)</script>', "</style><svg onload=alert(1)>",
    "' onfocus=alert(1) autofocus '", "&lt;b&gt;", "\u202egnp.exe", "[x](javascript:alert(1))", "</pre><iframe src=x>",
)  # fmt: skip


def luminance(color: str) -> float:
    """Return the relative luminance of a color, as WCAG counts it."""
    parts = [int(color[place : place + 2], 16) / 255 for place in (1, 3, 5)]
    red, green, blue = (part / 12.92 if part <= 0.03928 else ((part + 0.055) / 1.055) ** 2.4 for part in parts)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def contrast(a: str, b: str) -> float:
    """Return the contrast of two colors."""
    high, low = sorted((luminance(a), luminance(b)), reverse=True)
    return (high + 0.05) / (low + 0.05)


@pytest.mark.parametrize("name", ["bad", "warn", "good", "quiet"])
@pytest.mark.parametrize("theme, colors", [("light", style.LIGHT), ("dark", style.DARK)])
def test_words_have_contrast_in_both_themes(theme: str, colors: dict[str, str], name: str) -> None:
    """Each color of words has 4.5 to 1 on the ground of its theme."""
    assert contrast(colors[name], style.PAGES[theme]) >= 4.5


@pytest.mark.parametrize("colors", [style.LIGHT, style.DARK], ids=["light", "dark"])
def test_production_has_contrast(colors: dict[str, str]) -> None:
    """White words on the ground of production have 4.5 to 1."""
    assert contrast("#ffffff", colors["live"]) >= 4.5


def puts_in_a_cell(attributes: dict[str, str | None]) -> bool:
    """Whether a button writes a text into a new cell, and does nothing else."""
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
    """What tags and attributes stand in HTML."""

    def __init__(self) -> None:
        super().__init__()
        self.odd: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Note what is not ours; the one button that JupyterLab acts on may do one thing alone."""
        if tag == "button" and puts_in_a_cell(dict(attrs)):
            return
        self.odd += [tag] if tag not in TAGS else []
        self.odd += [f"{tag} {name}" for name, _ in attrs if name not in ATTRIBUTES]


def odd(widget: Any) -> list[str]:
    """Return the tags and attributes that are not ours, of all HTML below a widget."""
    found = Found()
    for one in below(widget):
        if isinstance(one, ipywidgets.HTML):
            found.feed(one.value)
    return found.odd


@pytest.mark.slow
@pytest.mark.parametrize("text", HOSTILE)
def test_hostile_text_is_text_in_forms_and_panels(api: Session, purchase: dict[str, Any], text: str) -> None:
    """Markup in what is filled in, answered and received is text wherever it is shown."""
    made = form(api.simulate_authorization, **{**purchase, "merchant_name": text}).allow("unusual_text")
    before = odd(made.widget)
    made.submit()
    panel = browse(api)
    for name in ("contracts", "transactions", "events", "journal"):
        tab = panel.open(name)
        tab.open(len(tab.view.rows) - 1)
    parser = Found()
    parser.feed(made.html + panel.html)
    pager = Pager((text,), [(text,)], opened=lambda _: None)

    assert [] == before + odd(made.widget) + odd(panel.widget) + parser.odd + odd(pager.widget)
    assert all(" " not in name for one in below(pager.widget) for name in getattr(one, "_dom_classes", ()))


@pytest.mark.slow
@pytest.mark.parametrize("name", [name for name, one in OPERATIONS.items() if walk.members(one.request)])
def test_hostile_text_in_any_field_is_text(api: Session, name: str) -> None:
    """Markup typed into every text field of an operation stays text beside it, below it and where no widget lives."""
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
    """Return what a browser's parser finds in HTML that is not ours, however it was nested."""
    tree = html5lib.parseFragment(html, namespaceHTMLElements=False)
    return [str(one.tag) for one in tree.iter() if one.tag not in TAGS | {"DOCUMENT_FRAGMENT"}]


def test_html_is_made_by_our_rendering_alone() -> None:
    """No module uses what would write data into HTML, or make links of it."""
    wrong = re.compile(r"Styler|\.style\.(format|set_|map|apply)|render_links|\.to_html\(|\.to_markdown\(|Markdown\(")
    sources = Path(workbench.__file__).parent.rglob("*.py")
    found = [f"{file.name}: {line.strip()}" for file in sources for line in file.read_text().splitlines()
             if wrong.search(line)]  # fmt: skip

    assert [] == found


@pytest.mark.parametrize("where", ["sandbox", "production"])
def test_everything_names_where_it_works(where: str, tmp_path: Path) -> None:
    """Forms, panels, bulk work and reads say environment and key, alive and as a static face; production in its color."""
    with connect(seed=7, environment=where) as api:
        work = bulk_panel(api.update_user, [], path=tmp_path / "run")
        work.wait(30)
        gauge = Work("read", "Read rewards", api, lambda *_: None, resumable=bool)
        one = form(api.update_user)
        rendering = {
            "form": (one.widget, one.html), "panel": (browse(api).widget, browse(api).html),
            "bulk": (work.widget, work._repr_mimebundle_()["text/html"]), "read": (gauge.widget, gauge.head),
        }  # fmt: skip
        key = api.info()["key_fingerprint"]

    for name, (widget, html) in rendering.items():
        head = next(one.value for one in below(widget) if "wb-head" in getattr(one, "_dom_classes", ()))
        for told in (head, html):
            assert where.upper() in told, name
            assert key in told, name
        assert f"wb-where-{where}" in head
        assert (where == "production") == ("wb-production" in widget._dom_classes), name


def test_direction_marks_are_shown(api: Session) -> None:
    """A character that turns text around is shown as an escape."""
    pager = Pager(("name",), [("\u202egnp.exe",)])

    assert "\\u202egnp.exe" in pager.lines[0][1].value


def test_static_html_stands_beside_the_widget(api: Session) -> None:
    """A form and a panel give HTML and plain text for viewers without widgets, with the environment."""
    for shown in (form(api.simulate_refund), browse(api)):
        made = shown._repr_mimebundle_()

        assert {"text/html", "text/plain", "application/vnd.jupyter.widget-view+json"} == set(made)
        assert "SANDBOX" in made["text/html"]
        assert "wb-root" not in made["text/html"]
