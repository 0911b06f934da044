"""Worlds from files: listed users, one error for all problems, and files that preserve their world."""

import random
import re
from pathlib import Path

import pytest

import workbench as wb
from workbench.base.errors import UnusableFile, UsageError
from workbench.sandbox import Sandbox
from workbench.sandbox.programs import read_world

CAST = """
[[users]]
name = "Ada Sample"
external_id = "ada"
cards = [{ status = "active", limit = 500_000 }, { status = "locked", limit = 10_000 }]
contracts = [{ chain_id = 84532, balances = ["250.50", "0.5"] }]
disputes = [{ status = "pending", amount = 1_500 }, { status = "accepted", amount = 2_500 }]

[[users]]
name = "Ben van Sample"
status = "needsInformation"
"""
PROGRAM = Path(wb.__file__).parent / "sandbox" / "worlds" / "program.toml"


@pytest.fixture
def file(tmp_path) -> Path:
    path = tmp_path / "cast.toml"
    path.write_text(CAST)
    return path


def by_external_id(sandbox: Sandbox, external_id: str) -> dict[str, object]:
    return next(user for user in sandbox.records("user") if user.get("external_id") == external_id)


def test_listed_users_are_in_the_world(file):
    sandbox = Sandbox(world=file)
    ada, ben = by_external_id(sandbox, "ada"), by_external_id(sandbox, "ben-van-sample")
    cards = [card for card in sandbox.records("card") if card["user"] == ada["id"]]
    purchases = {row["id"] for row in sandbox.records("transaction") if row["user"] == ada["id"]}
    disputes = [row for row in sandbox.records("dispute") if row["transaction"] in purchases]
    (contract,) = (row for row in sandbox.records("contract") if row["id"] in ada["contracts"])

    assert (ben["last_name"], ben["status"], ben["email"]) == (
        "van Sample",
        "needsInformation",
        "ben.van.sample@example.com",
    )
    assert [(card["status"], card["limit"], card["available"]) for card in cards] == [
        ("active", 500_000, 496_000), ("locked", 10_000, 10_000),
    ]  # fmt: skip
    assert [row["status"] for row in disputes] == ["pending", "accepted"]
    assert (contract["chain_id"], [token["balance"] for token in contract["tokens"]]) == (84532, ["250.50", "0.5"])
    assert len(sandbox.records("user")) == len(Sandbox().records("user")) + 2


def test_ids_depend_on_seed_and_external_id(file, tmp_path):
    """Another user in the list changes no id of the first."""
    before = by_external_id(Sandbox(world=file), "ada")["id"]
    file.write_text('[[users]]\nname = "Eve First"\n' + CAST)

    assert by_external_id(Sandbox(world=file), "ada")["id"] == before
    assert by_external_id(Sandbox(2, world=file), "ada")["id"] != before


def test_the_listed_users_can_be_worked_with(file):
    """A listed user's card can pay, and the user's collateral contract is listed."""
    with wb.connect(world=file) as api:
        ada = by_external_id(api.sandbox, "ada")
        card = next(card["id"] for card in api.sandbox.records("card") if card["user"] == ada["id"])
        paid = api.simulate_authorization(
            card_id=card, amount=496_000, currency="USD", merchant_name="Example Books", merchant_category_code="5942"
        )
        assert str(paid.status) == "authorized"
        assert any(contract.id in ada["contracts"] for contract in api.list_contracts())


def test_reset_fork_and_file_keep_the_world(file, tmp_path):
    """The sandbox's file stores the program, so the TOML file is no longer needed."""
    path = tmp_path / "sandbox.db"
    first = Sandbox(world=file, path=path)
    users = first.records("user")
    first.close()
    again = Sandbox(world=file, path=path)
    again.close()
    file.write_text(CAST.replace("ada", "eve"))
    with pytest.raises(UnusableFile, match="another world"):
        Sandbox(world=file, path=path)
    file.unlink()
    later = Sandbox(path=path)
    later.reset()

    assert later.records("user") == later.fork().records("user") == users
    later.close()


def test_own_categories_are_named_and_earn(tmp_path):
    """A category from the file has its name and points in events and rewards."""
    path = tmp_path / "own.toml"
    path.write_text(
        '[[categories]]\ncode = "8999"\nshare = 1\nticket = [10_000]\ndescription = "Consultants"\nspending = "advice"\npoints = 7\n'
    )
    with wb.connect(world=path) as api:
        card = api.sandbox.guide()["cards"]["active"][0]
        user = next(row["user"] for row in api.sandbox.records("card") if row["id"] == card)
        purchase = api.simulate_authorization(
            card_id=card, amount=1_000, currency="USD", merchant_name="Advisor", merchant_category_code="8999"
        )
        api.sandbox.settle(purchase.transaction_id)
        event = api.sandbox.events()[-1].payload
        newest = api.list_rewards_activity(user_id=user, limit=1).items[0]

    assert event["body"]["spend"]["merchantCategory"] == "Consultants"
    assert (int(newest.points), newest.spend_category) == (70, "advice")


SHARES = {"declined": 0.3, "reversed": 0.2, "refunded": 0.25, "disputed": 0.15}


@pytest.mark.parametrize("name", SHARES)
def test_a_world_has_the_shares_of_its_file(tmp_path, name):
    """Shares of declines and reversals refer to all purchases, those of refunds and disputes to settled ones."""
    path = tmp_path / "shares.toml"
    path.write_text(f"size = 40\n{name} = {SHARES[name]}\n")
    sandbox, small = Sandbox(world=path), {row["id"] for row in Sandbox().records("transaction")}
    rows = [row for row in sandbox.records("transaction") if row["id"] not in small]
    disputed = {row["transaction"] for row in sandbox.records("dispute")}
    settled = [row for row in rows if row["settled"]]
    counts = {
        "declined": (sum(row["status"] == "declined" for row in rows), len(rows)),
        "reversed": (sum(row["status"] == "reversed" for row in rows), len(rows)),
        "refunded": (sum(row["refunded"] > 0 for row in settled), len(settled)),
        "disputed": (sum(row["id"] in disputed for row in settled), len(settled)),
    }
    part, whole = counts[name]

    assert part / whole == pytest.approx(SHARES[name], abs=0.04)


def test_all_problems_are_in_one_error(tmp_path):
    path = tmp_path / "bad.toml"
    path.write_text(
        'size = "x"\nfoo = 3\nhabit = nan\ndeclined = 2\n[[cohorts]]\nshare = -1\njoined = [5, "a"]\nbar = 2\n'
        '[[users]]\nname = "x"\ncards = [{ status = "no", limit = 1.5 }]\n'
    )
    with pytest.raises(UsageError) as error:
        wb.connect(world=path)
    named = {problem.path.removeprefix("world.") for problem in error.value.problems}

    assert named == {
        "foo", "cohorts[0].bar", "size", "habit", "declined", "cohorts[0].share", "cohorts[0].joined[1]", "cohorts[0].active",
        "cohorts[0].purchases", "users[0].name", "users[0].cards[0].status", "users[0].cards[0].limit",
    }  # fmt: skip


@pytest.mark.parametrize(
    "text, says",
    [
        (
            "size = 10_000\n[[cohorts]]\nshare = 1\njoined = [9]\nactive = [1]\npurchases = [10_000]\n",
            "100,000,000 purchases",
        ),
        ("months = [1, 2]\n", "months must have 12"),
        (f"weekdays = {[0] * 7}\n", "weekdays must not all be 0"),
        ("settle_hours = [3, 2]\n", "settle_hours must be in ascending order"),
        ("refund_days = []\n", "refund_days must have 1 to"),
        ("declined = 0.6\nreversed = 0.6\n", "declined must be at most 1 together"),
        ("categories = []\n", "categories must have a share"),
        (
            'declines = [{ reason = "cvv_mismatch", share = 1 }, { reason = "cvv_mismatch", share = 1 }]',
            "must not contain a reason twice",
        ),
        (CAST + CAST, "must be unique"),
        (CAST.replace("limit = 500_000", "limit = 3_000"), "needs a limit"),
        (CAST.replace(', "0.5"]', "]"), "must be a list of two balances"),
        (CAST.replace("pending", "lost"), "must be one of"),
        (CAST.replace("84532", "-1"), "must be at least 1"),
        (f'[[users]]\nname = "Ada {"x" * 60}"\n', "at most 50 characters"),
        ("cohorts = 5\n", "cohorts"),
        ("users = [1, 2]\n", "users"),
        ("size = [\n", "is not TOML"),
        ("size = 1" + "0" * 5_000, "is not TOML"),
        ("[" * 5_000, "is not TOML"),
        ("x = 1\n" * 2, "is not TOML"),
        ("a = 1\n" * 200_000, "is not TOML"),
    ],
)
def test_a_wrong_file_is_refused(text, says, tmp_path):
    """A wrong file gives one error, which names the member."""
    path = tmp_path / "wrong.toml"
    path.write_text(text)

    with pytest.raises(UsageError, match=re.escape(says)):
        Sandbox(world=path)


def test_many_problems_are_counted(tmp_path):
    path = tmp_path / "many.toml"
    path.write_text("\n".join(f"x{number} = 1" for number in range(2_000)))

    with pytest.raises(UsageError, match=r"has 1,950 more problems") as error:
        Sandbox(world=path)
    assert len(error.value.problems) == 51


def test_a_damaged_file_is_refused_or_makes_a_world(tmp_path):
    """A program with random changes gives an error of this package, or a consistent world."""
    dice, path = random.Random(5), tmp_path / "damaged.toml"
    text = PROGRAM.read_text().replace("size = 240", "size = 3")
    refused = 0
    for _ in range(60):
        characters = list(text)
        for _ in range(dice.choice((1, 3, 30))):
            characters[dice.randrange(len(text))] = dice.choice('0123456789-.[]{}="\n\x00xé')
        path.write_text("".join(characters), encoding="utf-8")
        try:
            sandbox = Sandbox(world=path)
        except UsageError:
            refused += 1
            continue
        for card in sandbox.records("card"):
            assert card["limit"] == card["available"] + card["held"] + card["posted"] - card["refunded"]
    assert 0 < refused < 60


def test_no_file_and_no_world(tmp_path):
    for world in (tmp_path / "missing.toml", tmp_path, "huge", 5, b"x", ["small"]):
        with pytest.raises(UsageError, match="world"):
            Sandbox(world=world)


@pytest.mark.parametrize("name", ["program", "large"])
def test_the_built_in_worlds_are_files(name):
    """The built-in worlds are files that can be copied and used."""
    assert read_world(name) == read_world(PROGRAM.with_name(f"{name}.toml"))
