"""Commands that send or read many records: reads of rewards, and bulk runs that can be resumed."""

import csv
import json

import pytest

from workbench.base.schema.strict_json import loads
from workbench.sandbox import Sandbox

ROW = {
    "first_name": "Ada", "last_name": "Example", "birth_date": "1990-02-01", "national_id": "900121234",
    "country_of_issue": "US", "email": "ada@example.com", "address.line1": "1 Example Street", "address.city": "Springfield",
    "address.region": "IL", "address.postal_code": "62701", "address.country_code": "US", "ip_address": "198.51.100.7",
    "occupation": "Baker", "annual_salary": "50000", "account_purpose": "everyday", "expected_monthly_volume": "1000",
}  # fmt: skip


@pytest.fixture
def guide(wb):
    return json.loads(wb("sandbox", "guide", "-o", "json").out)


def rows(path, *changes: dict[str, str]):
    with path.open("w", newline="") as file:
        writer = csv.DictWriter(file, list({**ROW, **(changes[0] if changes else {})}))
        writer.writeheader()
        writer.writerows({**ROW, **change} for change in changes)
    return str(path)


def test_rewards_of_users(wb, guide):
    """All rewards are read, printed with wire names for programs, and summed exactly."""
    one, other = (user["id"] for user in guide["rewards_users"][:2])
    ended = wb("rewards", "read", one, "-o", "ndjson")
    items = [loads(line.encode()) for line in ended.out.splitlines()]
    earned = sum(int(item["points"]) for item in items if item["type"] == "earned")

    assert ended.code == 0
    assert f"{len(items):,} items: {earned:,} points earned" in ended.err
    assert "transactionAmountCents" in items[0]
    both = [json.loads(line)["userId"] for line in wb("rewards", "read", one, other, "-o", "ndjson").out.splitlines()]
    assert set(both) == {one, other}


@pytest.mark.soak  # reads ten thousand rows; tests/tables/test_reads.py tests this rule faster
def test_beyond_the_offset_each_type_is_read(wb, guide):
    """If a user has more rows than the largest offset reaches, each type is read separately, and a note says so."""
    far = next(user["id"] for user in guide["rewards_users"] if user["beyond_paging"])
    ended = wb("rewards", "read", far, "-o", "csv", "--fields", "id")

    assert ended.code == 0
    assert len(ended.out.splitlines()) > 10_100
    assert "each type was also read separately" in ended.err


def test_rewards_are_saved(wb, guide, tmp_path):
    """A file of rewards is written completely, and does not overwrite an existing file."""
    user = guide["rewards_users"][0]["id"]
    path = tmp_path / "rewards.csv"

    assert wb("rewards", "read", user, "--save", str(path)).code == 0
    assert len(path.read_text().splitlines()) > 100
    assert wb("rewards", "read", user, "--save", str(path)).code == 2


@pytest.mark.parametrize(
    "tokens", [["rewards"], ["rewards", "nobody"], ["rewards", "3f2a0b1c-0000-4000-8000-000000000000", "--type", "x"]]
)
def test_wrong_questions(wb, tokens):
    """Missing and invalid arguments end with 2."""
    assert wb(*tokens).code == 2


def test_rows_are_sent_once_each(wb, tmp_path):
    """Each row is sent once, as the events show."""
    path = rows(
        tmp_path / "people.csv", *({"external_id": f"bulk-{n}", "email": f"a{n}@example.com"} for n in range(5))
    )
    ended = wb("bulk", "run", "create_user_application", path, "-o", "json")

    assert ended.code == 0
    assert [row["outcome"] for row in json.loads(ended.out)] == ["done"] * 5
    assert "5 done" in ended.err
    assert len(wb("events", "list", "-o", "ndjson").out.splitlines()) == 5


def test_rows_are_checked_before_the_first_is_sent(wb, tmp_path):
    """A single invalid row stops the run. The error names its row and column."""
    path = rows(tmp_path / "people.csv", {"external_id": "a"}, {"external_id": "b", "email": "nobody"})
    ended = wb("bulk", "run", "create_user_application", path)

    assert ended.code == 2
    assert "row 3, email" in ended.err  # the line number that an editor shows
    assert json.loads(wb("events", "list", "-o", "json").out) == []


def test_partly_done(wb, tmp_path):
    """A run with refused rows ends with 5 and lists these rows."""
    path = rows(tmp_path / "people.csv", {"external_id": "a", "email": "b@example.com"}, {"external_id": "c"})
    wb("bulk", "run", "create_user_application", rows(tmp_path / "first.csv", {"external_id": "a"}))
    ended = wb("bulk", "run", "create_user_application", path)

    assert ended.code == 5
    assert "External id already in use" in " ".join(ended.out.split())


def test_an_unknown_row_is_looked_up_then_resumed(wb, tmp_path):
    """A row with a lost answer ends the run with 4. Once resolved as done, the row is not sent again."""
    path = rows(tmp_path / "people.csv", *({"external_id": f"x-{n}", "email": f"a{n}@example.com"} for n in range(3)))
    run = str(tmp_path / "run.db")
    sandbox = Sandbox()
    with sandbox.serve() as url:
        sandbox.add_fault("lost", of="create_user_application", nth=2)
        first = wb("bulk", "run", "create_user_application", path, "--path", run, "--url", url, "--on-unknown", "stop")
        sandbox.clear_faults()
        slip = wb("bulk", "resume", run, path, "--url", url, "--resolved", "2=done")
        second = wb("bulk", "resume", run, path, "--url", url, "--resolved", "3=done", "-o", "json")
        created = sandbox.events("user.updated")
    sandbox.close()

    assert (first.code, slip.code, second.code) == (4, 2, 0)
    assert len(created) == 3


@pytest.mark.parametrize(
    "tokens",
    [
        ["bulk", "run", "sign_withdrawal", "rows.csv"],
        ["bulk", "run", "list_contracts", "rows.csv"],
        ["bulk", "resume", "nowhere.db", "rows.csv"],
    ],
    ids=["withdrawals", "a read", "no run"],
)
def test_what_is_not_done_in_bulk(wb, tokens):
    """Withdrawals cannot be signed in bulk, and reads are not writes."""
    assert wb(*tokens).code == 2


def test_rejected_rows_are_corrected_and_resumed(wb, tmp_path):
    """Valid rows are sent, the others are written to a file with reasons, and results have the user's key."""
    people = rows(tmp_path / "people.csv", {"external_id": "c-1"}, {"external_id": "c-2", "email": "nobody"})
    run, rejects = str(tmp_path / "people.run"), tmp_path / "rejects.csv"
    command = ("--rejects", str(rejects), "--row-key", "external_id", "-o", "json")
    first = wb("bulk", "run", "create-user-application", people, "--path", run, "--duplicates", *command)
    rejects.write_text(rejects.read_text().replace("nobody", "ada2@example.com"))
    final = wb("bulk", "resume", run, str(rejects), "--row-key", "external_id", "-o", "json")

    assert first.code == 5
    assert [(one["key"], one["outcome"]) for one in json.loads(first.out)] == [("c-1", "done"), ("c-2", "not_sent")]
    assert final.code == 0, final.err
    assert [one["answer_status"] for one in json.loads(final.out)] == ["pending", "pending"]
