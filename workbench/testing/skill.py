"""Documentation for coding agents, generated from the operation table: `SKILL.md` and `llms.txt`."""

from collections.abc import Iterator

from workbench.service.interface.events import EVENT_KINDS
from workbench.service.interface.table import OPERATIONS

_CONFIGURATION = '{"mcpServers": {"card-issuing": {"command": "workbench", "args": ["agent", "serve", "--fresh"]}}}'
_HEAD = """---
name: card-issuing-workbench
description: Call, simulate and test a card issuing API in Python with an embedded sandbox. Use for code that calls \
this API or handles its webhooks.
---

# Card issuing workbench

```python
import workbench as wb

api = wb.connect()  # an embedded sandbox; wb.connect("NAME") opens a profile of a real service
card = api.sandbox.guide()["cards"]["active"][0]
purchase = api.simulate_authorization(
    card_id=card, amount=1250, currency="USD", merchant_name="Shop", merchant_category_code="5411"
)
api.sandbox.settle(purchase.transaction_id)
event = api.inbox.wait("transaction.completed")
```

- Amounts are whole cents. `amount=wb.FULL` refunds or reverses the full amount; leaving it out is refused.
- `wb.errors.OutcomeUnknown` means that a call may have been carried out: look it up with `api.journal`, and never \
repeat it blindly.
- `api.sandbox` has controls that the service does not have: settle, review, advance, add_fault, fork.
- Pytest fixtures come with the package; see `docs/testing.md`. Webhook handlers: see `docs/service.md`.
- `workbench docs NAME` shows the rules of an operation or of a kind of event. What the interface document leaves \
open is listed by
  `workbench docs assumptions`.
"""


def skill() -> str:
    """Return the text of `SKILL.md`."""
    return "\n".join([_HEAD, *_operations(), *_events(), *_server()])


def llms() -> str:
    """Return the text of `llms.txt`, an index of the documentation in the format for language models."""
    lines = [
        "# Card issuing workbench",
        "",
        "> A workbench for a card issuing API: client, sandbox, webhooks, tables, tests.",
        "",
    ]
    lines += ["## Operations", ""]
    lines += [f"- [{name}](interface.html#{name.replace('_', '-')}): {row.doc}" for name, row in OPERATIONS.items()]
    lines += ["", "## Events", "", *(f"- [{kind.name}](events.html): {kind.doc}" for kind in EVENT_KINDS.values())]
    lines += ["", "## Pages", "", *(f"- [{title}]({page}.html)" for page, title in _PAGES.items()), ""]
    return "\n".join(lines)


_PAGES = {
    "api": "Python API",
    "interface": "Interface",
    "assumptions": "Assumptions",
    "connections": "Connections",
    "service": "Sandbox and webhooks",
    "testing": "Testing an application",
    "agents": "Coding agents",
    "security": "Security",
}


def _operations() -> Iterator[str]:
    yield "## Operations\n"
    yield "| Method of `api` | Request | Effect | What it does |"
    yield "|---|---|---|---|"
    for name, row in OPERATIONS.items():
        effect = "simulation" if row.sandbox_only else "yes" if row.effect else "reads"
        yield f"| `{name}` | `{row.method} {row.path}` | {effect} | {row.doc} |"
    yield ""


def _events() -> Iterator[str]:
    yield "## Events\n"
    yield from (f"- `{kind.name}`: {kind.doc}" for kind in EVENT_KINDS.values())
    yield ""


def _server() -> Iterator[str]:
    yield "## Tools\n"
    yield (
        "`workbench agent serve` serves the Model Context Protocol: `describe`, `call`, `control` and "
        "`run_sequence`. Configuration:\n"
    )
    yield f"```json\n{_CONFIGURATION}\n```\n"
