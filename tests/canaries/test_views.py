"""Tables, exports, forms, panels and widgets hold no planted value unless it is revealed (K4, F10, X6)."""

import json
from pathlib import Path
from typing import Any

import ipywidgets
import pandas as pd
import pytest

import workbench as wb
from tests.canaries.conftest import Life
from tests.canaries.planted import ACCOUNT, CHANGES, PERSON, found
from workbench.session import connect

FRAMED = ("application", "update", "owner", "account", "business account", "dispute", "unknown member")


def _frame(life: Life, name: str, **how: Any) -> Any:
    return wb.frame([life.things[name]], **how)


@pytest.mark.parametrize("name", [*FRAMED, "received", "contracts"])
def test_tables_and_exports_hold_none(life: Life, name: str, tmp_path: Path) -> None:
    """A frame, its faces, and what is saved of it as CSV, XLSX or Parquet are masked."""
    thing = life.things[name]
    table = wb.frame(thing if isinstance(thing, list) else [thing])
    texts = {
        "text": table.to_string(),
        "html": table.to_html(),
        "values": repr(table.to_dict()),
        "attrs": repr(table.attrs),
    }
    for kind in ("csv", "xlsx", "parquet"):
        saved = tmp_path / f"table.{kind}"
        wb.save(table, saved)
        texts[kind] = saved.read_bytes().decode("latin-1")
    texts["xlsx"] = _unpacked(tmp_path / "table.xlsx")
    texts["parquet"] += repr(pd.read_parquet(tmp_path / "table.parquet").to_dict())  # its pages are compressed

    assert {way: found(text, life.drawn) for way, text in texts.items() if found(text, life.drawn)} == {}


def _unpacked(path: Path) -> str:
    from zipfile import ZipFile

    with ZipFile(path) as packed:
        return "".join(packed.read(name).decode("latin-1") for name in packed.namelist())


def test_what_is_revealed_is_shown_and_only_that(life: Life, tmp_path: Path) -> None:
    """A frame asked to reveal emails holds the email and nothing else, and the file is its owner's alone."""
    table = _frame(life, "application", reveal={"email"})
    wb.save(table, tmp_path / "table.csv")

    assert found((tmp_path / "table.csv").read_text()) == ["email"]
    assert (tmp_path / "table.csv").stat().st_mode & 0o077 == 0


def _widgets() -> str:
    return json.dumps(ipywidgets.Widget.get_manager_state(drop_defaults=False), default=str)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::workbench.client.advice.AdviceWarning")
def test_widgets_hold_none_after_sending_or_closing() -> None:
    """The widgets' state, as a notebook saves it, holds nothing of forms that were sent or closed, nor of the panel."""
    with connect(seed=11) as api:
        user = api.sandbox.guide()["users"]["approved"][0]
        shown = []
        for call, values in (
            (api.create_user_application, PERSON),
            (api.update_user, {"user_id": user, **CHANGES}),
            (api.create_payment_account, {"user_id": user, **ACCOUNT}),
        ):
            closed = wb.form(call).fill(**values)
            shown += [repr(closed), closed.html]
            closed.close()
            sent = wb.form(call).fill(**values)
            sent.submit()
            shown += [repr(sent), sent.html]
        panel = wb.browse(api).open("users")
        panel.opened(0)
        shown += [repr(panel.widget.get_state()), wb.browse(api).html, _widgets()]

    assert found("".join(shown)) == []
