"""Pages of a class. Pages to print and the page of setup fill parts of `pages.html`; the board has its own files."""

import re
from pathlib import Path
from string import Template

from workbench.base.system.messages import Response
from workbench.service.rendering import design
from workbench.service.rendering.elements import Markup, joined

_HEADERS = {
    "content-security-policy": "default-src 'none'; connect-src 'self'; img-src data:; script-src 'self'; "
    "style-src 'self'",
    "referrer-policy": "no-referrer",
    "cache-control": "no-store",
}
_TYPES = {".html": "text/html; charset=utf-8", ".js": "text/javascript", ".css": "text/css", ".py": "text/x-python"}
STYLESHEET = Markup('<link rel="stylesheet" href="/board.css">')


def read(name: str) -> str:
    """Return the text of a file of this package."""
    return Path(__file__).with_name(name).read_text(encoding="utf-8")


_PARTS = dict(re.findall(r"<!-- (\w+) -->\n(.*?)\n(?=<!--|\Z)", read("pages.html"), re.DOTALL))


def part(part: str, /, **values: object) -> Markup:
    """Return a part of `pages.html` filled with values. Text is escaped."""
    written = {key: joined([value if isinstance(value, Markup) else str(value)]) for key, value in values.items()}
    return Markup(Template(_PARTS[part]).substitute(written))


def response(text: str, kind: str = ".html") -> Response:
    """Return a response with a page, or with a text of another kind."""
    return Response(status=200, headers={**_HEADERS, "content-type": _TYPES[kind]}, body=text.encode())


def style() -> str:
    """Return the style sheet of all pages."""
    return f"{design.variables('body', by_system=True)}{read('board.css')}"


def inline_style() -> str:
    """Return the style sheet as HTML, for pages without a server."""
    return f"<style>{style()}</style>"
