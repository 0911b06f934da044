"""SQL over what a session or a folder holds: exact, typed, and nothing else can be read."""

from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

import workbench as wb


@pytest.fixture(scope="module")
def api() -> Any:
    with wb.connect() as made:
        wb.sequences.run(wb.sequences.catalogue["a-cardholders-month"], made, progress=False)
        yield made


def test_a_query_over_a_session(api: Any) -> None:
    """Transactions add up as their frame does, whole numbers stay whole."""
    frame = wb.reports.transactions(api)
    made = wb.sql("select sum(net) as net, count(*) as n, min(authorized_at) as first from transactions", api)

    assert made.values.tolist() == [[frame["net"].sum(), len(frame), frame["authorized_at"].min()]]
    assert made.dtypes.astype(str).tolist() == ["Int64", "Int64", "datetime64[us, UTC]"]


@pytest.mark.parametrize("table", ["events", "journal", "contracts", "deliveries"])
def test_each_table_of_a_session(api: Any, table: str) -> None:
    """What a session holds can be counted."""
    assert wb.sql(f"select count(*) as n from {table}", api)["n"][0] >= 0


def test_frames_and_reads_by_name(api: Any) -> None:
    """Decimals are exact; anything that makes a frame is a table."""
    rewards = wb.rewards.read(api, api.guide()["rewards_users"][:2], progress=False)
    made = wb.sql("select type, sum(points) as points from rewards group by type order by type", rewards=rewards)
    sums = rewards.frame().groupby("type", observed=True)["points"].sum()

    assert made["points"].tolist() == [Decimal(value) for value in sums]


def test_a_folder_is_a_set_of_tables(api: Any, tmp_path: Path) -> None:
    """Saved frames and folders of rewards are tables of their names."""
    wb.export(wb.reports.transactions(api), tmp_path / "spent.parquet")
    read = wb.rewards.read(api, api.guide()["rewards_users"][:1], progress=False, path=tmp_path / "points")

    assert wb.sql("select count(*) as n from spent", tmp_path)["n"][0] == len(wb.reports.transactions(api))
    assert wb.sql("select count(*) as n from points", tmp_path)["n"][0] == read.rows


@pytest.mark.parametrize(
    "query", ["select * from nothing", "selec", "select * from '/etc/passwd'", "copy (select 1) to 'x'"]
)
def test_what_cannot_be_run_says_so(api: Any, query: str) -> None:
    """The message lists the tables; files are out of reach."""
    with pytest.raises(ValueError, match=r"the query cannot be run: .*tables: transactions, events"):
        wb.sql(query, api)


@pytest.mark.slow
def test_rewards_of_a_sandbox_are_a_table() -> None:
    """One query joins the rewards of the users that the guide lists with what else the session holds."""
    with wb.connect(seed=1) as api:
        users = api.guide()["rewards_users"]
        query = (
            "select user_id, sum(points) as points from rewards where (select count(*) from journal) = 0 group by all"
        )
        found = wb.sql(query, api)

    assert set(found["user_id"]) == {user["id"] for user in users}
