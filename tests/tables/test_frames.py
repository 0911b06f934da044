"""Frames of records: names, types, masks, and undocumented members."""

import inspect
import time
from collections.abc import Iterator
from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any

import attrs
import pandas as pd
import pytest

import workbench as wb
from tests.conftest import RECORDED
from tests.each import each
from tests.tables import samples
from workbench.analysis.tables.columns import EXTRA, json_text, layout_of
from workbench.analysis.tables.frames import to_frame
from workbench.base.errors import UsageError
from workbench.base.schema.fields import Answer
from workbench.base.schema.masks import MASK
from workbench.base.schema.rules import FULL
from workbench.base.schema.strict_json import loads
from workbench.base.schema.walk import build, is_record, members
from workbench.client.session import connect
from workbench.service.interface import contracts, events, people, transactions
from workbench.service.interface.convert import converter
from workbench.service.interface.table import OPERATIONS

MODULES = (contracts, events, people, transactions)


def records() -> Iterator[type[Any]]:
    for module in MODULES:
        for _, cls in inspect.getmembers(module, inspect.isclass):
            if is_record(cls) and cls.__module__ == module.__name__:
                yield cls


def held(frame: pd.DataFrame) -> str:
    """Return the cells, names and attributes of a frame as text."""
    return frame.to_csv() + repr(frame.attrs)


@each(
    "cls",
    # a page is not a row, but a list of items
    [cls for cls in dict.fromkeys(records()) if cls is not transactions.RewardsActivity],
    ids=lambda cls: cls.__name__,
)
def test_every_record_has_columns(cls: type[Any]) -> None:
    """Each record class gives an empty frame with its columns, none of dtype object."""
    frame = to_frame([], of=cls)

    assert list(frame.columns) == (
        [*frame.columns]
        if cls is events.Event
        else [*(column.name for column in layout_of(cls).columns), *([EXTRA] if layout_of(cls).has_extra else [])]
    )
    assert "object" not in set(frame.dtypes.astype(str))
    assert ("extra" in frame.columns) == issubclass(cls, Answer)


def test_rewards_have_the_dtypes_of_their_rules() -> None:
    """Rewards have exact points, whole cents, UTC times and text ids, also in an empty frame."""
    frame = to_frame(samples.answer("list_rewards_activity", samples.REWARDS))

    assert frame.dtypes.astype(str).to_dict() == {
        "type": "category",
        "id": "str",
        "points": "decimal128(18, 6)[pyarrow]",
        "reason": "str",
        "status": "str",
        "merchant_name": "str",
        "transaction_amount_cents": "Int64",
        "spend_category": "str",
        "posted_at": "datetime64[us, UTC]",
        "minted_at": "datetime64[us, UTC]",
        "created_at": "datetime64[us, UTC]",
        "extra": "str",
    }
    assert frame["id"].tolist() == ["007", "8"]
    assert frame["points"].tolist() == [Decimal("12.50"), Decimal(-3)]
    pd.testing.assert_series_equal(to_frame([], of="list_rewards_activity").dtypes, frame.dtypes)


@each("operation", OPERATIONS)
def test_empty_answers_have_the_dtypes_of_full_ones(operation: str) -> None:
    """An empty frame of an operation has the columns and types of one with an answer."""
    row = OPERATIONS[operation]
    raw: dict[str, Any] = {"items": [{}]}
    if row.answer is not transactions.RewardsActivity:
        raw = {one.wire: "x" for one in members(row.answer)[:1]}
    one = converter().read_answer(row, [raw] if row.many else raw)

    assert to_frame([], of=operation).dtypes.astype(str).to_dict() == to_frame(one).dtypes.astype(str).to_dict()


def test_pages_make_one_table() -> None:
    """A list of pages becomes a frame of all items."""
    pages = samples.answer("list_rewards_activity", samples.REWARDS, samples.REWARDS)

    assert len(to_frame(pages)) == 4


def test_contracts_have_one_row_per_token() -> None:
    """A contract has a row for each token, or one row without tokens. Balances and rates are exact."""
    frame = to_frame(samples.answer("list_contracts", samples.CONTRACT, samples.BARE_CONTRACT))

    assert len(frame) == 3
    assert frame["tokens.balance"].tolist()[:2] == [Decimal("1250.50"), Decimal("0.1")]
    assert frame["tokens.exchange_rate"].tolist()[:2] == [Decimal("0.999"), Decimal(1)]
    assert frame["tokens.balance"].isna().tolist() == [False, False, True]
    assert frame["contract_version"].tolist() == [2, 2, 1]
    assert "b1, 0x" in frame["admin_addresses"][0]


def test_a_balance_too_long_for_decimals_stays_text() -> None:
    """A balance of 78 digits makes its column text, which a note says."""
    long = str(2**256 - 1)
    body = samples.CONTRACT.replace(b"1250.50", long.encode())
    frame = to_frame(samples.answer("list_contracts", body))

    assert frame["tokens.balance"].tolist() == [long, "0.1"]
    assert "tokens.balance stays text" in frame.attrs["notes"][0]


def test_leading_zeros_live() -> None:
    """Ids, postal codes and routing numbers keep their leading zeros."""
    user = to_frame(samples.answer("update_user", samples.USER), reveal={"postal_code"})
    contract = to_frame(samples.answer("list_contracts", samples.CONTRACT))

    assert user["external_id"][0] == "00042"
    assert user["address.postal_code"][0] == "00123"
    assert contract["onramp.ach.routing_number"][0] == "021000021"


def test_unknown_enum_values_are_kept() -> None:
    """An unknown status is a category after the known ones."""
    frame = to_frame(samples.answer("update_user", samples.USER))

    assert frame["application_status"][0] == "brandNew"
    assert next(iter(frame["application_status"].cat.categories)) == "approved"
    assert list(frame["application_status"].cat.categories)[-1] == "brandNew"


def test_private_columns_are_masked_unless_named() -> None:
    """Private columns are masked. `reveal` shows the named ones, which the frame's attributes list."""
    user = samples.answer("update_user", samples.USER)
    masked = to_frame(user)
    shown = to_frame(user, reveal={"email"})

    assert masked["email"][0] == "a•••@e•••.com"
    assert masked["first_name"][0] == "A."
    assert masked["address.line1"][0] == "•••"
    assert masked["address.city"][0] == "London"
    assert masked.attrs["revealed"] == []
    assert shown["email"][0] == "ada@example.com"
    assert shown["first_name"][0] == "A."
    assert shown.attrs["revealed"] == ["email"]


def test_reveal_refuses_what_is_not_masked() -> None:
    """A misspelled name in `reveal` is refused."""
    with pytest.raises(ValueError, match="emial is not a masked column here"):
        to_frame(samples.answer("update_user", samples.USER), reveal={"emial"})


@pytest.mark.parametrize("name", ["data", "salt", "signature.data", "parameters", "extra"])
def test_a_signature_never_stands_in_a_frame(name: str) -> None:
    """A frame contains no part of a withdrawal signature, and none can be revealed."""
    signature = samples.answer("sign_withdrawal", samples.SIGNATURE)

    assert "CANARY" not in held(to_frame(signature))
    with pytest.raises(ValueError, match="cannot be revealed"):
        to_frame(signature, reveal={name})


def test_unknown_members_are_counted_and_kept() -> None:
    """Undocumented members are masked in `extra`, can be revealed, and are counted in the notes."""
    body = samples.REWARDS.replace(b'"id":"007"', b'"id":"007","tier":{"level":1.50}')
    page = samples.answer("list_rewards_activity", body)
    frame = to_frame(page)

    assert frame["extra"].tolist()[0] == '{"tier":"•••"}'
    assert frame["extra"].isna().tolist() == [False, True]
    assert frame.attrs["unknown"] == {"tier": 1}
    assert "tier is not in the interface document" in frame.attrs["notes"][0]
    assert to_frame(page, reveal={"extra"})["extra"][0] == '{"tier":{"level":"1.50"}}'


def test_values_no_column_holds_are_set_aside() -> None:
    """Unreadable times and points, and cents beyond 64 bits, are in `extra` and noted."""
    body = b"""{"items":[{"postedAt":"yesterday","points":"many","transactionAmountCents":123456789012345678901},{}]}"""
    frame = to_frame(samples.answer("list_rewards_activity", body))

    assert loads(frame["extra"][0].encode()) == {
        "points": "many",
        "postedAt": "yesterday",
        "transactionAmountCents": 123456789012345678901,
    }
    assert frame.iloc[0].drop(["extra"]).isna().all()
    assert any(note.startswith("postedAt: 1 ×") for note in frame.attrs["notes"])


def test_a_time_without_a_zone_is_said() -> None:
    """A time without a zone is taken as UTC, which a note says."""
    frame = to_frame(samples.answer("list_rewards_activity", b'{"items":[{"postedAt":"2026-01-01T00:00:00"}]}'))

    assert frame["posted_at"][0] == pd.Timestamp("2026-01-01", tz="UTC")
    assert "postedAt: 1 × has no zone; UTC is assumed." in frame.attrs["notes"]


def test_events_open_the_bodies_of_the_kinds_that_occur() -> None:
    """Each event is a row with the columns of its kind. Unknown bodies are masked in `extra`."""
    bodies = (samples.USER_UPDATED, samples.MICRO_DEPOSIT, samples.STRANGE)
    frame = to_frame([samples.event(body) for body in bodies])

    assert frame["kind"].tolist() == ["user.updated", "microDeposit.received", "moon.landed"]
    assert frame["body.application_status"].tolist()[0] == "pending"
    assert frame["body.amount"].tolist()[1] == "•••"
    assert frame["extra"].tolist()[2] == '{"body.crew":"•••"}'
    assert "CANARY" not in held(frame)


def test_events_of_one_kind() -> None:
    """`of` selects the events of a kind, and an empty list has the kind's columns too."""
    deposits = [samples.event(samples.USER_UPDATED), samples.event(samples.MICRO_DEPOSIT)]
    frame = to_frame(deposits, of="microDeposit.received", reveal={"amount"})

    assert frame["body.amount"].tolist() == [Decimal("0.12")]
    assert frame.attrs["revealed"] == ["body.amount"]
    assert "body.amount" in to_frame([], of="microDeposit.received")


def test_full_is_a_word_in_its_column() -> None:
    """The column of refund amounts is text, so that it can contain FULL."""
    asked = [build(transactions.SimulateRefund, {"transaction_id": "t", "amount": a}) for a in (FULL, 2500)]

    assert to_frame(asked)["amount"].tolist() == ["FULL", "2500"]


def test_mixed_rows_are_refused() -> None:
    """Records of two classes are refused."""
    user, page = (
        samples.answer("update_user", samples.USER),
        samples.answer("simulate_refund", b'{"transactionId":"t"}'),
    )

    with pytest.raises(UsageError, match="User, SimulatedTransaction"):
        to_frame([user, page])


def test_nothing_of_no_kind_says_so() -> None:
    """An empty list without `of` gives an empty frame with a note."""
    frame = to_frame([])

    assert frame.empty
    assert "of=" in frame.attrs["notes"][0]


@pytest.mark.parametrize("thing", [5, "text", object, [1, 2]], ids=["int", "text", "class", "ints"])
def test_other_things_have_no_table(thing: Any) -> None:
    """A value that is not a record is refused."""
    with pytest.raises(UsageError, match="cannot convert"):
        to_frame(thing)


@attrs.frozen(kw_only=True)
class Entry:
    step: int
    note: str | None
    took: Decimal | None
    seconds: float
    end: "End | None"


@attrs.frozen(kw_only=True)
class End:
    word: str
    hidden: str = attrs.field(default="CANARY", repr=False)


class Result:
    row_type = Entry

    def rows(self) -> list[Entry]:
        return [Entry(step=1, note=None, took=Decimal("0.1"), seconds=0.5, end=End(word="done"))]


def test_results_of_higher_layers_offer_their_rows() -> None:
    """An object with `rows()` and `row_type` becomes a frame by the annotations of its rows."""
    frame = to_frame(Result())

    assert frame.dtypes.astype(str).to_dict() == {
        "step": "Int64", "note": "str", "took": "decimal128(18, 6)[pyarrow]", "seconds": "Float64", "end.word": "str",
    }  # fmt: skip
    assert frame.attrs["kind"] == "entry"


def test_a_session_has_tables() -> None:
    """Journal and inbox become frames. An empty journal has the same columns."""
    with connect(seed=1) as api:
        empty = to_frame(api.journal)
        card = api.sandbox.guide()["cards"]["active"][0]
        api.simulate_authorization(
            card_id=card, amount=1_000, currency="USD", merchant_name="Corner Shop", merchant_category_code="0742"
        )
        journal, inbox = to_frame(api.journal), to_frame(api.inbox)

        assert list(empty.columns) == list(journal.columns)
        assert journal["operation"].tolist() == ["simulate_authorization"]
        assert "digest" not in journal
        assert set(inbox["resource"]) == {"transaction"}
        assert inbox["body.spend.merchant_category_code"].tolist()[0] == "0742"


def test_a_frame_is_its_own_frame() -> None:
    """A frame is returned unchanged."""
    frame = pd.DataFrame({"a": [1]})

    assert to_frame(frame) is frame


def test_half_of_a_surrogate_pair_is_shown_as_its_escape() -> None:
    """Text with half a surrogate pair is shown as an escape."""
    frame = to_frame(build(people.UpdateUser, {"user_id": "a\ud800"}))

    assert frame["user_id"][0] == "a\\ud800"


def test_recorded_responses_make_tables() -> None:
    """Recorded responses become frames, without masks in column names."""
    for path in sorted(RECORDED.glob("*.200*.json")):
        name = path.name.partition(".")[0]
        if name in OPERATIONS:
            frame = to_frame(converter().read_answer(OPERATIONS[name], loads(path.read_bytes())))
            assert len(frame) >= 1
            assert MASK not in "".join(frame.columns)


def test_everything_a_session_lists_makes_a_frame() -> None:
    """Every list of a session can be converted directly. The frame of a guide contains no key."""
    import workbench as wb

    with wb.connect() as api:
        run = wb.sequences.run(api, wb.sequences.catalogue["refund-partial"], progress=False)
        guide = api.sandbox.guide()
        listed = [
            api.sandbox.deliveries(), wb.assumptions(), list(api.journal), run, [run, run], run.ledger(), api.sandbox.events(),
            api.sandbox.records("card"), api.inbox.stored(), api, guide["rewards_users"],
            wb.rewards.fetch(api, guide["rewards_users"][:1], progress=False),
        ]  # fmt: skip
        for one in listed:
            assert isinstance(to_frame(one), pd.DataFrame)
        frame = to_frame(guide)

    assert set(frame["kind"]) >= {"cards", "users", "rewards_users", "contracts"}
    assert frame[frame["kind"] == "cards"]["status"].value_counts()["active"] == len(guide["cards"]["active"])
    assert not any(key in frame.to_csv() for key in guide["api_keys"].values())


@pytest.mark.parametrize(
    "kind", ["user", "card", "transaction", "dispute", "payment_account", "payment_route", "contract"]
)
def test_stored_records_have_times_and_columns_to_reveal(kind: str) -> None:
    """Times are in UTC. Each masked column can be revealed alone, and other names are refused."""
    import workbench as wb

    with wb.connect() as api:
        records = api.sandbox.records(kind)
    frame = to_frame(records)
    times = [name for name in frame if name.endswith("_at")]
    assert all(frame[name].dtype == "datetime64[us, UTC]" for name in times)
    assert not times or frame[times[0]][0].timestamp() * 1000 == records[0][times[0]]
    with pytest.raises(UsageError, match="is not a masked column here; columns that can be revealed") as error:
        to_frame(records, reveal={"nothing"})
    private = str(error.value).rpartition(": ")[2].split(", ")
    for name in private if private != ["none"] else ():
        shown = to_frame(records, reveal={name})
        assert shown.attrs["revealed"] == [name]
        assert [other for other in frame if not shown[other].equals(frame[other])] == [name]


@pytest.mark.parametrize("x", [5, "x", None, int, [1, 2]], ids=str)
def test_other_objects_are_refused_in_words(x: Any) -> None:
    """The error names the type and what is accepted."""
    with pytest.raises(UsageError, match=r"cannot convert .* to a DataFrame; allowed are records, events, mappings"):
        to_frame(x)


def test_a_frame_of_a_cluster_is_refused_with_what_to_do() -> None:
    """The error for a Dask DataFrame says how to load or aggregate it."""
    cluster = type("Lazy", (), {"compute": lambda self: None})()
    for take in (to_frame, (lambda x: wb.history(x).spend()), (lambda x: wb.history(x).points())):
        with pytest.raises(ValueError, match=r"pass frame\.compute\(\), or aggregate first"):
            take(cluster)


def test_records_of_a_sandbox_are_read_in_linear_time() -> None:
    """5,000 mappings with 20 members become a frame within seconds."""
    rows = [{f"member{number}": number for number in range(20)} for _ in range(5_000)]
    started = time.thread_time()

    assert to_frame(rows).shape == (5_000, 20)
    assert time.thread_time() - started < 5


def test_members_of_extra_are_json_that_loses_nothing() -> None:
    """`extra` preserves the digits of decimals, the zones of times, and nested records."""
    noon = datetime(2026, 1, 15, 12, tzinfo=UTC)
    record = events.Event(id="e", resource="user", action="updated", body={"a": Decimal("1.50")})
    value = {
        "n": Decimal("1.50"),
        "at": noon,
        "local": noon.replace(tzinfo=None),
        "day": date(2026, 1, 15),
        "of": record,
    }

    assert loads(json_text(value).encode()) == {
        "n": "1.50",
        "at": "2026-01-15T12:00:00.000Z",
        "local": "2026-01-15T12:00:00",
        "day": "2026-01-15",
        "of": {"id": "e", "resource": "user", "action": "updated", "body": {"a": "1.50"}},
    }
