"""Privacy of every field, the form of masked values, and the absence of private values in all output."""

import copy
import pickle
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.each import each
from tests.interface.test_table import RECORDS
from workbench.base.schema import strict_json
from workbench.base.schema.fields import OPEN, PERSONAL, SECRET, Privacy
from workbench.base.schema.masks import MaskedDict, masked
from workbench.base.schema.walk import Array, Text, build, member, members
from workbench.service.interface import contracts, events, people, table, transactions
from workbench.service.interface.convert import converter
from workbench.service.interface.examples import example

# Secret and personal fields. All other fields are public.
SECRETS = {
    contracts.Signature: "data salt",
    contracts.WithdrawalSignature: "parameters",
    people.CreateUserApplication: "birth_date national_id sumsub_share_token persona_share_token",
    people.UpdateUbo: "birth_date national_id",
    people.Link: "url",
    people.LinkParams: "signature",
    people.ExternalFiatAccount: "account_number",
    contracts.AccountDetails: "account_number",
    events.MicroDepositReceived: "amount description",
}
PERSONALS = {
    people.User: "first_name last_name email phone_number",
    people.UpdateUser: "first_name last_name email phone_number",
    people.UpdateUbo: "first_name last_name email",
    people.CreateUserApplication: "first_name last_name email phone_number ip_address occupation annual_salary",
    people.Address: "line1 line2 postal_code",
    people.BankingAddress: "address_line1 address_line2 postal_code",
    people.ExternalFiatAccount: "beneficiary_first_name beneficiary_last_name beneficiary_business_name",
    contracts.AccountDetails: "beneficiary_name beneficiary_address",
    transactions.UpdateDispute: "text_evidence",
    transactions.Dispute: "text_evidence",
    events.UserUpdated: "first_name last_name email",
    events.MicroDepositReceived: "originator_name",
    events.Spend: "user_first_name user_last_name user_email",
    events.Event: "body",
}
ALL = [*RECORDS, events.Event]


@each("record", ALL, ids=lambda record: record.__name__)
def test_tiers(record: type[Any]) -> None:
    """Every field has the privacy that the policy states."""
    expected = dict.fromkeys((one.name for one in members(record)), OPEN)
    expected |= dict.fromkeys(PERSONALS.get(record, "").split(), PERSONAL)
    expected |= dict.fromkeys(SECRETS.get(record, "").split(), SECRET)

    assert expected == {one.name: one.about.privacy for one in members(record)}


@each(
    "record,name,value,expected",
    [
        (people.User, "first_name", "Ada", "A."),
        (people.User, "last_name", "Example de Sample", "E. d. S."),
        (people.User, "email", "ada@data.example.com", "a•••@d•••.com"),
        (people.User, "email", "no address", "•••"),
        (people.User, "phone_number", "5550142", "•••42"),
        (people.User, "phone_number", "555", "•••"),
        (people.CreateUserApplication, "ip_address", "203.0.113.77", "203.0.113.•"),
        (people.CreateUserApplication, "ip_address", "2001:db8::7", "•••"),
        (people.CreateUserApplication, "national_id", "900000001", "•••"),
        (people.CreateUserApplication, "birth_date", "1990-02-01", "•••"),
        (people.CreateUserApplication, "annual_salary", "50000", "•••"),
        (people.ExternalFiatAccount, "account_number", "000123456789", "•••89"),
        (people.ExternalFiatAccount, "account_number", "1234", "•••"),
        (people.ExternalFiatAccount, "routing_number", "011000015", "011000015"),
        (transactions.UpdateDispute, "text_evidence", "x" * 1234, "••• (1,234 characters)"),
        (people.Address, "line1", "12 Example Street", "•••"),
        (people.Address, "city", "Springfield", "Springfield"),
        (people.Address, "region", "IL", "IL"),
        (transactions.SimulateAuthorization, "merchant_category_code", "0742", "0742"),
        (people.User, "wallet_address", "0x" + "1a" * 20, "0x" + "1a" * 20),
        (transactions.RewardsItem, "merchant_name", "Example Books", "Example Books"),
    ],
)
def test_looks(record: type[Any], name: str, value: str, expected: str) -> None:
    """A private value is shown with its format's mask, and a public value unchanged."""
    made = build(record, {name: value})

    assert expected == masked(made)[member(record, name).wire]


def test_reveal_names_members() -> None:
    """Members to reveal are named by their paths, and the others stay masked."""
    user = build(
        people.User, {"email": "ada@example.com", "address": {"line1": "12 Example Street"}, "first_name": "Ada"}
    )

    assert masked(user, reveal={"email", "address.line1"}) == {
        "firstName": "A.",
        "email": "ada@example.com",
        "address": {"line1": "12 Example Street"},
    }


CANARY = "CANARY7331"


@st.composite
def planted(draw: st.DrawFn, cls: type[Any]) -> Any:
    """Return a wire object with the canary in every private text and in an unknown member."""
    made: dict[str, Any] = {"brandNew": CANARY}
    for one in members(cls):
        kind = one.kind.of if isinstance(one.kind, Array) else one.kind
        if hasattr(kind, "of") and kind.of in ALL:
            value: Any = draw(planted(kind.of))
        elif one.about.privacy is not Privacy.OPEN and isinstance(kind, Text):
            value = draw(st.sampled_from((CANARY, f"x {CANARY} y", f"0{CANARY}@{CANARY}.{CANARY}", f"{CANARY}99")))
        else:
            continue
        made[one.wire] = [value] if isinstance(one.kind, Array) else value
    return made


@pytest.mark.parametrize("record", [r for r in ALL if issubclass(r, events.Answer)], ids=lambda record: record.__name__)
def test_nothing_private_is_printed(record: type[Any]) -> None:
    """No repr, string, format, masked record, masked body, copy or pickle shows a private value."""

    @given(planted(record))
    def check(raw: dict[str, Any]) -> None:
        wire = strict_json.loads(strict_json.dumps(raw))
        answer = converter().structure(wire, record)
        for shown in (answer, copy.deepcopy(answer), pickle.loads(pickle.dumps(answer))):
            for text in (repr(shown), str(shown), f"{shown}", f"{shown!r:}", str([shown]), repr({"a": shown})):
                assert CANARY not in text
        assert CANARY not in repr(wire)
        assert CANARY not in str(masked(answer)).replace(f"{CANARY[-2:]}'", "")
        assert CANARY not in str(masked(wire, of=record))

    check()


def test_a_mapping_in_place_of_a_record_is_not_printed() -> None:
    """A mapping in place of a nested record shows only its number of members."""
    asked = people.UpdateUser(user_id="u", address={"line1": CANARY})
    sent = people.CreatePaymentAccount(
        type="externalFiatAccount", external_fiat_account={"account_number": CANARY}, user_id="u"
    )

    assert repr(asked) == "UpdateUser(user_id='u', address=<1 members>)"
    assert CANARY not in repr(sent)


def test_a_wire_body_of_another_shape_is_masked() -> None:
    """An object or list in place of a public text is masked, because it may contain anything."""
    raw = {"status": {"nationalId": CANARY}, "id": [{"a": CANARY}, "open"], "brandNew": CANARY}

    assert masked(raw, of=transactions.Dispute) == {"status": "•••", "id": ["•••", "open"], "brandNew": "•••"}


def test_a_request_of_an_operation_is_masked() -> None:
    """A request body is masked by its record's declarations."""
    body = {"nationalId": CANARY, "address": {"line1": CANARY, "city": "Springfield"}, "chainId": 1}
    cls = table.Operations.create_user_application.request

    assert masked(body, of=cls) == {
        "nationalId": "•••",
        "address": {"line1": "•••", "city": "Springfield"},
        "chainId": 1,
    }


def test_a_mapping_of_no_known_record_is_masked_whole() -> None:
    """Without a record, a mapping shows only names, None and booleans."""
    raw = {"status": "open", "paid": True, "none": None, "more": [{"a": CANARY}]}

    assert masked(raw) == {"status": "•••", "paid": True, "none": None, "more": "•••"}
    assert masked([raw, CANARY])[1] == "•••"


def test_a_masked_mapping_keeps_its_values() -> None:
    """A masked mapping has the real values, but its repr and rich output are masked."""
    made = MaskedDict(email=CANARY, inner={"a": CANARY})

    assert made["email"] == CANARY
    assert repr(made) == "{'email': '•••', 'inner': '•••'}" == repr(masked(made))
    assert CANARY not in str([copy.copy(made), pickle.loads(pickle.dumps(made))])
    assert CANARY not in str(list(made.__rich_repr__()))


def test_repr_shows_what_is_open() -> None:
    """A record's repr shows its public members in the document's order."""
    asked = transactions.SimulateAuthorization(
        card_id="3f2a0b1c-1111-4222-8333-444455556666",
        amount=1250,
        currency="USD",
        merchant_name="Example\u202eBooks",
        merchant_category_code="5411",
        decline_reason=transactions.DeclineReason.CARD_LOCKED,
    )

    assert repr(asked) == (
        "SimulateAuthorization(card_id='3f2a0b1c-1111-4222-8333-444455556666', amount=1250, currency='USD', "
        "merchant_name='Example\\u202eBooks', merchant_category_code='5411', decline_reason='card_locked')"
    )


def test_times_are_shown_as_they_are_sent() -> None:
    """A masked record has only plain values, as JSON does."""
    account = example(people.PaymentAccount)

    assert masked(account)["createdAt"] == "2026-01-15T12:00:00.000Z"
