"""HTML elements, tables and pages: text is escaped in every position, and one module writes tables and pages."""

import re
from pathlib import Path

import html5lib
import pytest
from hypothesis import given
from hypothesis import strategies as st

import workbench
from tests.rendering.test_markup import hostile
from workbench.service.rendering.elements import Markup, element, html_page, isolated, joined, table

READABLE = st.characters(exclude_categories=("Cs", "Cc"), exclude_characters="\ufffe\uffff")
written = st.one_of(hostile.map(lambda text: re.sub(r"[\x00-\x1f\x7f-\x9f]", "", text)), st.text(READABLE, max_size=30))


def parsed(html: str):
    return html5lib.parse(html, namespaceHTMLElements=False)


@given(text=written, value=written)
def test_an_element_holds_the_text_and_the_attribute_that_it_was_given(text, value):
    """Text and attribute value are read back unchanged, and create no other element or attribute."""
    paragraph = parsed(f"{element('p', text, joined([text], '|'), isolated(text), title=value)}").find("body/p")

    assert "".join(paragraph.itertext()) == text * 3
    assert [child.tag for child in paragraph] == ["bdi"]
    assert paragraph.attrib == ({"title": value} if value else {})


@given(cells=st.lists(st.tuples(written, written), min_size=1, max_size=3), text=written, row_heads=st.booleans())
def test_a_table_holds_its_cells(cells, text, row_heads):
    """Cells, heads, totals and caption are read back unchanged, in their positions."""
    html = table(
        cells, (text, "b"), totals=("Total", text), caption=text, columns=({"class_": text}, {}), row_heads=row_heads
    )
    read = parsed(html).find("body/table")

    assert [["".join(cell.itertext()) for cell in row] for row in read.iter("tr")] == [
        [text, "b"], *map(list, cells), ["Total", text],
    ]  # fmt: skip
    assert "".join(read.find("caption").itertext() if text else ()) == text
    assert [cell.get("scope") for cell in read.iter("th")] == ["col", "col"] + ["row"] * row_heads * (len(cells) + 1)


@given(title=written)
def test_a_page_holds_its_title_and_its_parts(title):
    """A title does not end the page's head, whatever its text is."""
    html = html_page(title, element("h1", title), style="p{}", head=Markup("<meta name=a>"), theme="light", class_="b")
    page = parsed(html)

    assert "".join(page.find("body/h1").itertext()) == title
    assert [child.tag for child in page.find("head")] == ["meta", "meta", "title", "meta", "style"]
    assert (page.find("body").attrib, page.attrib) == ({"class": "b"}, {"lang": "en", "data-theme": "light"})


def test_one_module_writes_tables_and_pages():
    """No other module contains tags of tables or pages, except the one for faults and the one for workbooks."""
    package = Path(workbench.__file__).parent
    tags = re.compile(r"<(?:table|thead|tbody|tfoot|tr|th|td|html|body|!doctype)\b", re.IGNORECASE)
    writers = {
        path.relative_to(package).as_posix()
        for path in package.rglob("*.py")
        if tags.search(path.read_text(encoding="utf-8"))
    }

    assert writers - {"sandbox/faults.py", "analysis/sheets/workbooks.py"} == {"service/rendering/elements.py"}


@pytest.mark.parametrize("text", ["<b>", Markup("<b>")], ids=["text", "markup"])
def test_only_markup_is_inserted_without_escaping(text):
    """The type `Markup` decides, not the content of a text."""
    assert ("<b>" in element("p", text)) == isinstance(text, Markup)
