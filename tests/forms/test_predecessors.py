"""Forms that a notebook has replaced are closed and leave no widgets."""

from collections.abc import Callable
from typing import Any

import ipywidgets
import pytest

from tests.forms.test_forms import models
from workbench.client.session import Session
from workbench.screens.forms import predecessors
from workbench.screens.panel.panel import form

AROUND = ("LayoutModel", "StyleModel")


class Shell:
    """The state of the running cell, as a kernel's shell reports it."""

    def __init__(self) -> None:
        self.user_ns: dict[str, Any] = {}
        self.events = self
        self.parent: dict[str, Any] = {}
        self._ended: list[Callable[..., None]] = []
        self._runs = 0

    def register(self, _: str, act: Callable[..., None]) -> None:
        self._ended.append(act)

    def get_parent(self) -> dict[str, Any]:
        return self.parent

    def run(self, cell: str, act: Callable[[], None]) -> None:
        self._runs += 1
        self.parent = {"header": {"msg_id": str(self._runs)}, "metadata": {"cellId": cell}}
        act()
        for ended in self._ended:
            ended()


@pytest.fixture
def shell(monkeypatch: pytest.MonkeyPatch) -> Shell:
    """Return a shell in which the forms of a test are created."""
    made = Shell()
    monkeypatch.setattr(predecessors, "notebook_shell", lambda: made)
    monkeypatch.setattr(predecessors, "_made", [])
    monkeypatch.setattr(predecessors, "_watched", [])
    return made


@pytest.mark.slow
def test_a_cell_that_runs_again_leaves_no_widget(api: Session, shell: Shell) -> None:
    """Two forms of one run stay open together. Twenty runs leave as many widgets as one run."""
    kept: list[Any] = []

    def cell() -> None:
        kept[:] = [form(api.simulate_refund), form(api.simulate_reversal)]

    shell.run("a", cell)
    first = len(models())
    for _ in range(19):
        shell.run("a", cell)

    assert first == len(models())
    assert ["open", "open"] == [one.state for one in kept]


def test_a_name_that_is_given_again_closes_its_form(api: Session, shell: Shell) -> None:
    """Any cell can assign the name again. Forms with other names stay open."""

    def make(name: str) -> None:
        shell.user_ns[name] = form(api.simulate_refund)

    shell.run("a", lambda: make("mine"))
    first = shell.user_ns["mine"]
    shell.run("b", lambda: make("other"))
    before = first.state
    shell.run("c", lambda: make("mine"))

    assert "open" == before
    assert "closed" == first.state
    assert ["open", "open"] == [shell.user_ns[name].state for name in ("mine", "other")]


def test_a_form_makes_what_is_open(api: Session) -> None:
    """The application form opens with at most sixty widgets, and a step creates its fields when opened."""
    before = models()
    made = form(api.create_user_application)
    state = ipywidgets.Widget.get_manager_state()["state"]
    widgets = [one for key, one in state.items() if key not in before and not one["model_name"].endswith(AROUND)]
    built = [path for path, field in made.view.inputs.fields.items() if field.made]
    made.view.steps.go(5)

    assert len(widgets) <= 60
    assert set(made.view.inputs.steps[0].paths) > set(built)
    assert made.view.inputs.fields["is_terms_of_service_accepted"].made
    made.close()
    assert models() == before
