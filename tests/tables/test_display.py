"""Display of frames in IPython: readable amounts, ids and decimals, without a change of the frame."""

import re
from typing import Any

import pandas as pd
import pytest
from IPython.core.interactiveshell import InteractiveShell

import workbench as wb
from workbench.analysis.tables import display

HOSTILE = "<img src=x onerror=alert(1)>"


@pytest.fixture(scope="module")
def transactions() -> pd.DataFrame:
    with wb.connect(seed=7) as api:
        wb.sequences.run(api, wb.sequences.traffic(seed=7, cards=2, days=20), progress=False)
        return wb.history(api).transactions()


@pytest.fixture
def shell() -> Any:
    shell = InteractiveShell.instance()
    display.register()
    yield shell
    InteractiveShell.clear_instance()


def shown(shell: Any, frame: Any) -> tuple[str, str]:
    """Return the HTML and the text that IPython displays."""
    data, _ = shell.display_formatter.format(frame)
    return data["text/html"], data["text/plain"]


def test_amounts_ids_and_missing_values_are_written_for_people(shell: Any, transactions: pd.DataFrame) -> None:
    frame = transactions[["transaction_id", "merchant_name", "net_cents", "refunded_at"]]
    dtypes, attrs = dict(frame.dtypes), dict(frame.attrs)
    html, text = shown(shell, frame)

    net = int(frame["net_cents"].max())
    first = str(frame["transaction_id"].iloc[0])
    for written in (html, text):
        assert f"{net / 100:,.2f} USD" in written
        assert "NaT" not in written
    assert f'title="{first}"' in html
    assert f">{first}</span>" in html  # the id is not shortened, so that a copied row contains it
    assert first[:8] in text
    assert first not in text
    assert (dict(frame.dtypes), dict(frame.attrs)) == (dtypes, attrs)
    assert str(net) in frame.to_csv()


def test_periods_have_their_names(shell: Any, transactions: pd.DataFrame) -> None:
    """Weeks, months, quarters and years are displayed by name, and days as dates."""
    history = wb.history(transactions)
    firsts = {"week": r"20\d\d-W\d\d", "month": r"20\d\d-\d\d", "Q-JAN": r"FY20\d\d-Q\d", "year": r"20\d\d"}
    for freq, name in firsts.items():
        for written in shown(shell, history.approvals(freq=freq)):
            assert re.search(rf"(>|0 +){name}(<| )", written), freq
    assert re.search(r"0 +20\d\d-\d\d +0", shown(shell, history.cohorts())[1])
    assert re.search(r"0 +20\d\d-\d\d-\d\d ", shown(shell, history.approvals())[1])


def test_decimals_have_no_needless_zeros(shell: Any) -> None:
    with wb.connect(seed=7) as api:
        rows = wb.rewards.fetch(api, api.sandbox.guide()["users"]["approved"][:1], progress=False).frame()
    html, text = shown(shell, wb.history(rows).liability())

    for written in (html, text):
        assert re.search(r"\d,\d{3}\b", written)
        assert ".000000" not in written


def test_dollars_have_two_places(shell: Any) -> None:
    """Columns in dollars have separators and two decimals, whatever their type."""
    html, text = shown(shell, pd.DataFrame({"budget_usd": [1234.5, None], "share": [0.25, 1.5]}))

    for written in (html, text):
        assert "1,234.50" in written
        assert "0.25" in written


def test_amounts_of_several_currencies_stay_in_the_minor_unit(shell: Any, transactions: pd.DataFrame) -> None:
    frame = transactions[["currency", "net_cents"]].iloc[:4].copy()
    frame["net_cents"] = pd.array([2_955_200, 100, 5, pd.NA], dtype="Int64")
    frame["currency"] = ["JPY", "usd", None, "usd"]
    yen = frame.iloc[:1]

    assert "2,955,200" in shown(shell, frame)[1]
    assert "USD" not in shown(shell, frame)[1]
    assert "2,955,200 JPY" in shown(shell, yen)[1]


def test_text_of_the_service_stays_text(shell: Any, transactions: pd.DataFrame) -> None:
    """Markup in cells, column names and indexes is escaped."""
    frame = transactions.head(3).assign(merchant_name=HOSTILE, card_id=HOSTILE * 9)
    others = [
        frame.rename(columns={"card_id": HOSTILE}),
        frame.set_index("merchant_name"),
        pd.DataFrame({"a": [HOSTILE]}),
    ]

    for each in (frame, *others):
        assert "<img" not in shown(shell, each)[0]


def test_other_frames_are_shown_by_pandas(shell: Any) -> None:
    frame = pd.DataFrame({"amount": [1234567.5, None]})

    assert shown(shell, frame) == (frame._repr_html_(), repr(frame))  # type: ignore[operator]


def test_settings_of_pandas_hold(shell: Any, transactions: pd.DataFrame) -> None:
    many = pd.concat([transactions] * 9, ignore_index=True)
    with pd.option_context("display.max_rows", 6, "display.min_rows", 4):
        assert shown(shell, many)[0].count("<tr") == 1 + 4 + 1  # the header, 4 rows, and a row of dots
    with pd.option_context("display.notebook_repr_html", False):
        assert "text/html" not in shell.display_formatter.format(transactions)[0]
