"""HTML of records: hostile text is escaped, and only the workbench's own tags and attributes occur."""

import re

import html5lib
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.each import each
from workbench.base.errors import BadRequest, InvalidRequest, Problem, visible
from workbench.base.schema.walk import Array, Choice, DecimalNumber, Kind, Nested, Text, build, leaves, members
from workbench.service import rendering
from workbench.service.interface import convert, table
from workbench.service.interface.events import EVENT_KINDS, Event
from workbench.service.rendering import markup, text
from workbench.service.rendering.text import Sheet

TAGS = {"div", "span", "table", "caption", "thead", "tbody", "tr", "th", "td", "bdi", "br", "strong"}
ATTRIBUTES = {"style", "class", "title", "scope"}
STATES = re.compile("<details.*?</details>", re.DOTALL)  # state diagrams, which test_states.py checks
PAYLOADS = [
    "<img src=x onerror=alert(1)>",
    '"><script>alert(1)</script>',
    "</style><svg onload=alert(1)>",
    "</bdi></td></tr></table><iframe src=//example.com>",
    "' style='x:expression(1)",
    "<!--",
    "<![CDATA[x",
    "&lt;b&gt;&#60;",
    "javascript:alert(1)",
    "a\u202egnp.exe",
    "$\\frac{1}$",
]
hostile = st.one_of(st.sampled_from(PAYLOADS), st.text(max_size=30))


def filled(cls: type, text: str):
    """Return a record with the text in every text member."""

    def value(kind: Kind):
        match kind:
            case Nested(of=inner):
                return filled(inner, text)
            case Array(of=inner):
                return (value(inner),)
            case Text() | Choice():
                return text
            case DecimalNumber(text=True):
                return text
        return None

    return build(cls, {one.name: value(one.kind) for one in members(cls)})


def inspected(html: str) -> list:
    """Return the elements of an HTML fragment, after a check of their tags and attributes."""
    fragment = html5lib.parseFragment(STATES.sub("", html), namespaceHTMLElements=False)
    elements = [element for element in fragment.iter() if element is not fragment]
    for element in elements:
        assert element.tag in TAGS, element.tag
        assert set(element.attrib) <= ATTRIBUTES
    return elements


SUBJECTS = [
    *{operation.request for operation in table.OPERATIONS.values()},
    *{operation.answer for operation in table.OPERATIONS.values()},
    *{kind.body for kind in EVENT_KINDS.values()},
    Event,
]


@pytest.mark.parametrize("cls", sorted(SUBJECTS, key=lambda cls: cls.__name__), ids=lambda cls: cls.__name__)
@given(text=hostile)
def test_no_tag_or_attribute_from_data(cls, text):
    """Hostile text in every member of a record, masked or revealed, adds no tag or attribute."""
    record = filled(cls, text)
    inspected(rendering.html([record, record]))
    inspected(rendering.html(record, reveal={path.rpartition(".")[2] for path, _ in leaves(cls)}))


@each("payload", PAYLOADS)
def test_a_payload_is_read_as_it_was_written(payload):
    """The displayed text equals the payload, with invisible characters as escapes."""
    record = build(table.Operations.update_user.answer, {"id": "x", "external_id": payload})

    text = "".join("".join(element.itertext()) for element in inspected(rendering.html(record))[:1])
    assert visible(payload) in text


@given(text=hostile)
def test_errors_and_mappings_are_escaped(text):
    """Messages of the service, member names and keys of mappings are escaped."""
    for thing in (
        BadRequest(operation="x", status=400, error=text, message=text),
        InvalidRequest([Problem(text, text, text)]),
        {text: text, "status": text, "nested": {text: [text]}},
        [{text: text}],
        convert.converter().structure({"id": "x", text: text}, table.Operations.update_user.answer),
    ):
        inspected(rendering.html(thing))


def test_texts_are_isolated_and_marks_are_visible():
    """A right-to-left override is shown as an escape, and does not affect the text around it."""
    html = rendering.html(build(table.Operations.update_user.answer, {"id": "a\u202eb"}))

    assert "\u202e" not in html
    assert r"<bdi>a\u202eb</bdi>" in html


def test_nothing_is_fetched_and_no_script_runs():
    """The HTML has no resource or script, and no fixed color of text or background."""
    html = rendering.html([build(table.Operations.update_user.answer, {"id": "x", "application_status": "approved"})])

    assert not re.search(r"https?:|url\(|<script|<style|<link|on\w+=", html)
    assert not re.search(r"(?<![-\w])(?:color|background):\s*(?:#|white|black|rgb)", html)


def test_status_is_readable_without_its_color():
    """Without styles, a status has its mark and its words."""
    html = rendering.html(
        build(table.Operations.update_user.answer, {"id": "x", "application_status": "needsInformation"})
    )

    assert "<bdi>? needs information</bdi>" in re.sub(r' style="[^"]*"', "", html)


def test_a_long_list_is_capped_and_counted():
    """A list of 100,000 rows shows 200 and counts the others."""
    html = rendering.html([{"n": n} for n in range(100_000)])

    assert html.count("<tr>") == 201
    assert "99,800 more of 100,000" in html


def test_an_assumption_shows_its_reason_on_hover():
    """The mark of an assumption has the reason as its title."""
    html = rendering.html(
        build(table.Operations.create_payment_account.request, {"type": "externalFiatAccount", "nickname": "x"})
    )

    (mark,) = [element for element in inspected(html) if element.get("title")]
    assert mark.text == "~"
    assert mark.get("title") == "assumed: the document does not show which payment-account fields are required"


def test_code_keeps_its_lines_and_blanks():
    """Displayed code keeps its lines and indentation, so that it can be pasted."""
    sheet = Sheet(title="", code=("for one in (1, 2):", "    print(one < 2)"))

    assert markup.write(sheet).count("white-space:pre") == 1
    assert "for one in (1, 2):<br>    print(one &lt; 2)" in markup.write(sheet)
    assert text.write(sheet, 10).splitlines() == list(sheet.code)


def test_an_empty_status_is_not_a_chip():
    """An empty status is shown as an empty cell, without a label."""
    shown = rendering.html_table([{"step": "advance", "status": ""}, {"step": "buy", "status": "authorized"}])

    assert shown.count("wb-status") == 1
    assert "wb-status" not in rendering.html({"status": ""})
