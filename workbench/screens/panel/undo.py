"""The last action of a panel, and its undo."""

import secrets
from collections.abc import Iterator
from contextlib import contextmanager

from workbench.base.errors import BadRequest, UsageError, WorkbenchError, visible
from workbench.base.system.messages import acting
from workbench.client.session import sandbox_of
from workbench.sandbox.internals import internals


class LastAction:
    """The last action in a panel, with its label and the savepoint for its undo."""

    def __init__(self, api: object) -> None:
        self._sandbox = sandbox_of(api)
        self._saved: tuple[int, str] | None = None  # savepoint and token while an action is unfinished
        self.undoable: tuple[int, str] | None = None
        """Savepoint and token of the action, if it can be undone."""
        self.label = ""
        self.refusal = ""
        """Why the action cannot be undone; empty if it can."""

    @contextmanager
    def acting(self) -> Iterator[None]:
        """Save the sandbox's state before an action, and mark the action's change, to tell it from other changes."""
        self.undoable, self._saved, self.refusal = None, None, ""
        actor = secrets.token_hex(8)
        if self._sandbox is not None:
            try:
                self._saved = internals(self._sandbox).savepoint(), actor
            except BadRequest as error:  # the sandbox's file is too large for a savepoint
                self.refusal = f" Not undoable: {visible(str(error.message), 160)}."
            except WorkbenchError:
                pass  # if the problem persists, the action itself reports it
        with acting(actor):
            yield

    def end(self, label: str) -> None:
        """Record the end of an action. The action can be undone if it made the only change since the savepoint."""
        saved, self.label, self._saved, self.undoable = self._saved, label, None, None
        if saved is not None and internals(self._sandbox).changes(actor=saved[1]) == saved[0] + 1:
            self.undoable = saved

    def undo(self) -> str:
        """Restore the state before the action and return its label, unless the sandbox has changed since the action."""
        if self.undoable is None:
            raise UsageError("there is nothing to undo", of="browse")
        savepoint, actor = self.undoable
        internals(self._sandbox).undo(savepoint=savepoint, actor=actor)
        return self.label
