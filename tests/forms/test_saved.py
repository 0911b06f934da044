"""A notebook that was run and saved with its widgets contains no values entered into forms."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.forms.conftest import PERSON, SECRETS

CELLS = (
    (
        "import json, pathlib\nimport workbench as wb\napi = wb.connect(seed=7)\n"
        "person = json.loads(pathlib.Path('person.json').read_text())"
    ),
    "half = wb.form(api.create_user_application, **person)\nhalf",
    "half.fill(first_name=person['first_name'] + ' again').problems",
    "sent = wb.form(api.create_user_application, **person)\nsent.submit()\nsent",
    (
        "typed = wb.form(api.create_user_application)\ntyped.view.inputs.choosers[typed.draft.alternatives[0]].value = 2\n"
        "for name in ('first_name', 'birth_date', 'national_id', 'annual_salary'):\n"
        "    typed.view.inputs.fields[name].input.value = person[name]\n"
        "typed.close()\nprint(len(typed.draft.given))"
    ),
    "panel = wb.browse(api)\npanel.open('users')\npanel\nhalf.snippets['Python']",
)


def elsewhere(notebook: Any) -> str:
    """Return what a viewer without scripts and widgets shows, as nbviewer does for an untrusted notebook."""
    import nbformat
    from nbconvert import HTMLExporter

    bare = nbformat.from_dict(notebook)
    bare = nbformat.reads(nbformat.writes(bare), as_version=4)
    bare.metadata.pop("widgets", None)
    for cell in bare.cells:
        cell.metadata["trusted"] = False
    shown: str = HTMLExporter(exclude_input=True, template_name="basic").from_notebook_node(bare)[0]
    assert "<script" not in shown
    return shown


@pytest.mark.slow
@pytest.mark.notebook
def test_an_executed_notebook_holds_nothing_private(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Planted values are in no output and no widget state of a notebook that nbclient ran and saved."""
    import nbformat  # the import takes a second, and only this test needs it
    from nbclient import NotebookClient

    monkeypatch.setenv("IPYTHONDIR", str(tmp_path / "ipython"))
    (tmp_path / "person.json").write_text(json.dumps(PERSON))
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(one) for one in CELLS])

    NotebookClient(
        notebook, timeout=120, kernel_name="python3", resources={"metadata": {"path": str(tmp_path)}},
        store_widget_state=True,
    ).execute()  # fmt: skip

    seen = elsewhere(notebook)
    text = nbformat.writes(notebook)
    assert "The form was sent. Answer:" in seen
    assert "Nothing was sent. Run the cell for a live form." in seen
    assert [] == [secret for secret in SECRETS if secret in seen.lower()]
    assert "widget-state+json" in text
    assert "SANDBOX" in text
    for cell in notebook.cells:
        cell.source = ""
    assert [] == [secret for secret in SECRETS if secret in nbformat.writes(notebook).lower()]
