"""HTML page about a served sandbox's operations, with their fields, rules, errors and curl commands. No scripts."""

from collections.abc import Iterable
from typing import Any

from workbench.service.interface.convert import Converter
from workbench.service.interface.examples import example
from workbench.service.interface.table import Operation
from workbench.service.rendering import label, markup
from workbench.service.rendering.calls import curl
from workbench.service.rendering.design import variables
from workbench.service.rendering.elements import Markup, element, html_page
from workbench.service.rendering.operations import operation_blocks
from workbench.service.rendering.text import Sheet, sentence

_STYLE = """
body { margin: 0 auto; max-width: 60rem; padding: var(--wb-s4); color: var(--wb-ink); background: var(--wb-page);
  font: var(--wb-large)/1.5 system-ui, sans-serif; color-scheme: light dark }
a { color: var(--wb-link) } a, code, h2, td { overflow-wrap: anywhere }
nav { columns: 2 22rem } nav h2 { font-size: var(--wb-large); margin: 0; break-after: avoid }
nav ul { margin: 0 0 var(--wb-s3); padding-left: var(--wb-s4) } nav li { break-inside: avoid }
section { border-top: 1px solid var(--wb-line); margin-top: var(--wb-s6) }
"""
_PREFIXES = frozenset({"", "issuing", "simulate", "tenants", "signatures"})


def page(operations: Iterable[Operation[..., Any]], url: str, converter: Converter) -> str:
    """Return the HTML page.

    Args:
        operations: Served operations.
        url: Base URL, with its `/v1`.
        converter: Converter with the wire names of the served behavior.
    """
    subjects: dict[str, list[Operation[..., Any]]] = {}
    for row in operations:
        subjects.setdefault(_subject(row.path), []).append(row)
    contents: list[Markup] = []
    for subject, rows in subjects.items():
        contents += [element("h2", sentence(subject)), element("ul", *map(_entry, rows))]
    sections = (_section(row, url, converter) for rows in subjects.values() for row in rows)
    openapi = element("a", "openapi.json", href="/openapi.json")
    return html_page(
        "Card issuing service",
        element("h1", "Card issuing service"),
        element("p", "Base URL: ", element("code", url), ". For tools: ", openapi, "."),
        element("nav", *contents),
        *sections,
        style=f"{variables('body', by_system=True)}{_STYLE}",
        head=Markup('<link rel="icon" href="data:,">'),
    )


def _subject(path: str) -> str:
    """Return the resource of an operation: the first part of its path that names records."""
    return next(part for part in path.split("/") if part not in _PREFIXES).replace("-", " ")


def _called(row: Operation[..., Any]) -> str:
    return sentence(label(row.name))


def _entry(row: Operation[..., Any]) -> Markup:
    return element("li", element("a", _called(row), href=f"#{row.name}"), f": {row.doc}")


def _section(row: Operation[..., Any], url: str, converter: Converter) -> Markup:
    sent = curl(row, example(row.request), base_url=url, converter=converter, reveal=True)
    blocks = map(markup.write, [*operation_blocks(row, converter), Sheet(title="Example", code=(sent,))])
    path = element("p", element("code", f"{row.method} {row.path}"))
    return element("section", element("h2", _called(row)), path, *blocks, id=row.name)
