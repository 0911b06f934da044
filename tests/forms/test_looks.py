"""How forms look: readable in both themes (contrast counted), hostile text harmless in every face (F1, F4, F12, F14)."""

import json
from html.parser import HTMLParser
from typing import Any

import ipywidgets
import pytest

from tests.forms.conftest import below
from workbench.forms import style
from workbench.forms.live import form
from workbench.forms.pager import Pager
from workbench.forms.panel import browse
from workbench.session import Session

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


def luminance(colour: str) -> float:
    """Give the relative luminance of a colour, as WCAG counts it."""
    parts = [int(colour[place : place + 2], 16) / 255 for place in (1, 3, 5)]
    red, green, blue = (part / 12.92 if part <= 0.03928 else ((part + 0.055) / 1.055) ** 2.4 for part in parts)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def contrast(a: str, b: str) -> float:
    """Give the contrast of two colours."""
    high, low = sorted((luminance(a), luminance(b)), reverse=True)
    return (high + 0.05) / (low + 0.05)


@pytest.mark.parametrize("name", ["bad", "warn", "good", "quiet"])
@pytest.mark.parametrize("theme, colours", [("light", style.LIGHT), ("dark", style.DARK)])
def test_words_have_contrast_in_both_themes(theme: str, colours: dict[str, str], name: str) -> None:
    """Each colour of words has 4.5 to 1 on the ground of its theme."""
    assert contrast(colours[name], style.PAGES[theme]) >= 4.5


@pytest.mark.parametrize("colours", [style.LIGHT, style.DARK], ids=["light", "dark"])
def test_production_has_contrast(colours: dict[str, str]) -> None:
    """White words on the ground of production have 4.5 to 1."""
    assert contrast("#ffffff", colours["live"]) >= 4.5


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
    """Give the tags and attributes that are not ours, of all HTML below a widget."""
    found = Found()
    for one in below(widget):
        if isinstance(one, ipywidgets.HTML):
            found.feed(one.value)
    return found.odd


@pytest.mark.slow
@pytest.mark.parametrize("text", HOSTILE)
def test_hostile_text_is_text_in_forms_and_panels(api: Session, purchase: dict[str, Any], text: str) -> None:
    """Markup in what is filled in, answered and told of is text wherever it is shown (F1)."""
    made = form(api.simulate_authorization, **{**purchase, "merchant_name": text}).allow("unusual_text")
    before = odd(made.widget)
    made.submit()
    panel = browse(api)
    for name in ("contracts", "transactions", "events", "journal"):
        tab = panel.open(name)
        tab.opened(len(tab.view.rows) - 1)
    parser = Found()
    parser.feed(made.html + panel.html)
    pager = Pager((text,), [(text,)], opened=lambda _: None)

    assert [] == before + odd(made.widget) + odd(panel.widget) + parser.odd + odd(pager.widget)
    assert all(" " not in name for one in below(pager.widget) for name in getattr(one, "_dom_classes", ()))


def test_direction_marks_are_shown(api: Session) -> None:
    """A character that turns text around is shown as an escape (F4)."""
    pager = Pager(("name",), [("\u202egnp.exe",)])

    assert "\\u202egnp.exe" in pager._lines[0][2].value


def test_static_html_stands_beside_the_widget(api: Session) -> None:
    """A form and a panel give HTML and plain text for viewers without widgets, with the environment (F12, F14)."""
    for shown in (form(api.simulate_refund), browse(api)):
        made = shown._repr_mimebundle_()

        assert {"text/html", "text/plain", "application/vnd.jupyter.widget-view+json"} == set(made)
        assert "SANDBOX" in made["text/html"]
        assert "wb-room" not in made["text/html"]
