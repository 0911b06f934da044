"""HTML page of the operations of a served sandbox, without scripts: fields, rules, errors and a curl command each."""

from collections.abc import Iterable
from html import escape
from typing import Any

from workbench.service.interface.convert import Converter
from workbench.service.interface.examples import example
from workbench.service.interface.table import Operation
from workbench.service.rendering import label, markup
from workbench.service.rendering.calls import curl
from workbench.service.rendering.design import variables
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
    """Return the page.

    Args:
        operations: Served operations.
        url: Base URL, with its `/v1`.
        converter: Converter with the wire names of the served behavior.
    """
    subjects: dict[str, list[Operation[..., Any]]] = {}
    for row in operations:
        subjects.setdefault(_subject(row.path), []).append(row)
    contents = "".join(
        f"<h2>{escape(sentence(subject))}</h2><ul>{''.join(map(_entry, rows))}</ul>"
        for subject, rows in subjects.items()
    )
    sections = "".join(_section(row, url, converter) for rows in subjects.values() for row in rows)
    return (
        '<!doctype html><html lang="en"><head><meta charset="utf-8"><title>Card issuing service</title>'
        '<meta name="viewport" content="width=device-width"><link rel="icon" href="data:,">'
        f"<style>{variables('body', by_system=True)}{_STYLE}</style></head><body><h1>Card issuing service</h1>"
        f'<p>Base URL: <code>{escape(url)}</code>. For tools: <a href="/openapi.json">openapi.json</a>.</p>'
        f"<nav>{contents}</nav>{sections}</body></html>"
    )


def _subject(path: str) -> str:
    """Return what an operation is about: the first part of its path that names records."""
    return next(part for part in path.split("/") if part not in _PREFIXES).replace("-", " ")


def _called(row: Operation[..., Any]) -> str:
    return escape(sentence(label(row.name)))


def _entry(row: Operation[..., Any]) -> str:
    return f'<li><a href="#{row.name}">{_called(row)}</a>: {escape(row.doc)}</li>'


def _section(row: Operation[..., Any], url: str, converter: Converter) -> str:
    sent = curl(row, example(row.request), base_url=url, converter=converter, reveal=True)
    blocks = "".join(map(markup.write, [*operation_blocks(row, converter), Sheet(title="Example", code=(sent,))]))
    head = f"<h2>{_called(row)}</h2><p><code>{row.method} {escape(row.path)}</code></p>"
    return f'<section id="{row.name}">{head}{blocks}</section>'
