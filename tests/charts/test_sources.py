"""A chart of transactions can be drawn from every source that `wb.history` accepts."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

import workbench as wb
from tests.each import across
from workbench.base.errors import UsageError

CHARTS = ("spend_chart", "approvals_chart", "declines_chart", "cohorts_chart")
SOURCES: dict[str, Callable[[Any, Path], object]] = {
    "session": lambda api, _: api,
    "history": lambda api, _: wb.history(api),
    "sandbox": lambda api, _: api.sandbox,
    "events": lambda api, _: [event.payload for event in api.sandbox.events()],
    "frame of events": lambda api, _: wb.to_frame([event.payload for event in api.sandbox.events()]),
    "log": lambda api, folder: log(api, folder / "events.ndjson"),
    "frame of transactions": lambda api, _: wb.history(api).transactions(),
    "frame of postings": lambda api, _: wb.history(api).postings(),
    "records": lambda api, _: api.sandbox.records("transaction"),
    "frame of records": lambda api, _: wb.to_frame(api.sandbox.records("transaction")),
    "frame that pandas makes of records": lambda api, _: pd.DataFrame(api.sandbox.records("transaction")),
}


def log(api: Any, path: Path) -> Path:
    path.write_text("".join(json.dumps(dict(event.payload)) + "\n" for event in api.sandbox.events()))
    return path


@pytest.fixture(scope="module")
def api() -> Any:
    """A session with six purchases: settled, declined and open."""
    with wb.connect() as session:
        card = session.sandbox.guide()["cards"]["active"][0]
        for number, reason in enumerate((None, None, "card_locked", None, "invalid_pin", None)):
            bought = session.simulate_authorization(
                card_id=card,
                amount=1_000 + number,
                currency="USD",
                merchant_name=f"Shop {number % 2}",
                merchant_category_code="5411",
                **({"decline_reason": reason} if reason else {}),
            )
            if number in (0, 3):
                session.sandbox.settle(bought.transaction_id)
        yield session


@pytest.mark.parametrize("name, source", across(CHARTS, SOURCES))
def test_every_source_is_drawn(name: str, source: str, api: Any, tmp_path: Path) -> None:
    """Every source gives a chart with data."""
    axes = getattr(wb.charts, name)(SOURCES[source](api, tmp_path))

    assert "no data" not in " ".join(text.get_text() for text in axes.texts).lower()
    assert axes.patches or axes.lines or axes.collections or axes.images


@pytest.mark.parametrize("source", SOURCES)
def test_no_source_is_read_as_nothing(source: str, api: Any, tmp_path: Path) -> None:
    """Each source has the six purchases. Records also include earlier ones."""
    ids = {str(one) for one in wb.history(SOURCES[source](api, tmp_path)).transactions()["transaction_id"]}

    assert ids >= {
        entry.answer["transactionId"] for entry in api.journal if entry.operation == "simulate_authorization"
    }


@pytest.mark.parametrize("kind", ["user", "dispute", "card"])
def test_records_of_another_kind_are_no_transactions(kind: str, api: Any) -> None:
    """Records of another kind are refused with the same error as a list and as a frame."""
    ends = []
    for source in (api.sandbox.records(kind), wb.to_frame(api.sandbox.records(kind))):
        try:
            ends.append(len(wb.history(source).transactions()))
        except UsageError as error:
            ends.append(str(error))

    assert ends[0] == ends[1]
    assert isinstance(ends[0], str)
