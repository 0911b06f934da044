"""Close the forms that a notebook replaced: their cell ran again, or their variable got another value."""

from typing import Any

import attrs

from workbench.base.system.progress import notebook_shell


@attrs.define(eq=False)
class _Made:
    """A form that a cell created."""

    form: Any
    cell: str
    run: str
    named: bool = False


_made: list[_Made] = []
_watched: list[Any] = []  # shells in which a hook is registered


def replace_former(form: object) -> None:
    """Close the forms that earlier runs of the running cell created, and assign this form to the cell."""
    shell = notebook_shell()
    if shell is None:
        return
    if not any(known is shell for known in _watched):
        _watched.append(shell)
        shell.events.register("post_run_cell", lambda *_: _close_unnamed(shell))
    parent = shell.get_parent() if hasattr(shell, "get_parent") else {}
    run = str(parent.get("header", {}).get("msg_id", ""))
    cell = str(parent.get("metadata", {}).get("cellId") or parent.get("content", {}).get("code", ""))
    if cell:
        _close([form_call for form_call in _made if form_call.cell == cell and form_call.run != run])
        _made.append(_Made(form, cell, run))


def _close_unnamed(shell: Any) -> None:
    """Close the forms to which a variable referred earlier, but no variable refers now."""
    named = {id(value) for name, value in shell.user_ns.items() if not name.startswith("_")}
    _close([form_call for form_call in _made if form_call.named and id(form_call.form) not in named])
    for form_call in _made:
        form_call.named = id(form_call.form) in named


def _close(replaced: list[_Made]) -> None:
    for form_call in replaced:
        if form_call.form.state != "sending":
            form_call.form.close()
            _made.remove(form_call)
