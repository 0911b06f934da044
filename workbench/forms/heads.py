"""What a form says above its inputs, and all of it where no widget lives."""

from html import escape
from typing import Any

from workbench import rendering
from workbench.forms.fields import help_of
from workbench.rendering.markup import isolated

_BETTER = {
    "sign_withdrawal": (
        '<div class="wb-advice">! This form checks the request alone. wb.withdrawals.plan(…) compares it with the contract, '
        "its admins and its balance first, and gives out the signature.</div>"
    )
}


def problem(text: str) -> str:
    """Return a problem as HTML, with its mark."""
    return f'<div class="wb-problem" role="alert">✗ {isolated(text)}</div>'


def headline(words: str, api: Any) -> str:
    """Say what something is, in which environment, on which host, with which key."""
    info = api.info()
    where = info["environment"]
    return (
        f"<div><strong>{escape(words)}</strong> "
        f'<span class="wb-where wb-where-{escape(where)}">{escape(where.upper())}</span> '
        f'<span class="wb-quiet">{isolated(info["host"])} · key {escape(info["key_fingerprint"])}</span></div>'
    )


def head(operation: Any, api: Any) -> str:
    """Say what a form is for, and where it sends."""
    line = headline(rendering.label(operation.name).capitalize(), api)
    return f"{line}<div>{escape(operation.doc)}</div>{_BETTER.get(operation.name, '')}"


def static(form: Any) -> str:
    """Return a form, or what came of it, for viewers without widgets."""
    if form.state == "done":
        said = "<div>It was sent. The answer:</div>" + rendering.html(form.answer)
    elif form.state == "unknown" and form.error is not None:
        said = rendering.html(form.error)
    else:
        rows = [
            {"field": leaf.path, "what it is": help_of(leaf.member), "needed": leaf.member.required}
            for leaf in form.draft.leaves.values()
        ]
        said = "<div>Nothing was sent. Run the cell for a live form.</div>" + rendering.html_table(rows)
    return f"{head(form.operation, form._api)}{said}"
