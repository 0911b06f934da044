"""A private key or seed phrase is refused in every member, except 64 digits in members that may contain a hash."""

from pathlib import Path
from typing import Any

import pytest

import workbench as wb
from tests.canaries.planted import ACCOUNT, PERSON, PHRASE
from tests.client.doubles import CARD, PURCHASE, Service, client_on
from tests.each import each

pytestmark = pytest.mark.filterwarnings("ignore::workbench.base.errors.AdviceWarning")
HEX = "7731" * 16
SALE: dict[str, Any] = {**PURCHASE}
SHARED = {
    "ip_address": "203.0.113.177", "occupation": "x", "annual_salary": "1", "account_purpose": "x",
    "expected_monthly_volume": "1", "is_terms_of_service_accepted": True,
}  # fmt: skip


@each("text", [HEX, "0x" + HEX, PHRASE, f" {PHRASE} "], ids=["hex", "0x", "phrase", "blanks"])
@each("check", [True, False], ids=["checked", "unchecked"])
def test_a_private_key_is_not_sent(text: str, check: bool) -> None:
    """Nothing is sent or recorded, and the error names only the member."""
    service = Service({})
    api = client_on(service, check=check)
    with pytest.raises(wb.InvalidRequest, match="merchant_name looks like a private key") as caught:
        api.simulate_authorization(**{**SALE, "merchant_name": text})

    assert 0 == service.count
    assert [] == list(api.journal)
    assert text not in repr(caught.value)


def test_a_private_key_inside_is_named_by_its_path() -> None:
    """A private key in a nested record is reported once, with its complete path."""
    account = {**ACCOUNT["external_fiat_account"], "bank_name": "0x" + HEX}
    with pytest.raises(wb.InvalidRequest) as caught:
        client_on(Service({})).create_payment_account(user_id=CARD, type=ACCOUNT["type"], external_fiat_account=account)

    assert ["externalFiatAccount.bankName"] == [one.path for one in caught.value.problems]


@pytest.mark.parametrize(
    "given",
    [{**PERSON, "external_id": HEX}, {**SHARED, "sumsub_share_token": HEX}, {**SHARED, "persona_share_token": HEX}],
    ids=["external id", "sumsub", "persona"],
)
def test_a_hash_is_sent_where_it_may_be_one(given: dict[str, Any]) -> None:
    """An external id may be a hash, and another party's token may look like one."""
    service = Service({"id": CARD})
    client_on(service).create_user_application(**given)

    assert 1 == service.count


def test_a_seed_phrase_is_refused_there_too() -> None:
    """A seed phrase is refused in members that accept hashes."""
    with pytest.raises(wb.InvalidRequest, match="external_id looks like a private key"):
        client_on(Service({})).create_user_application(**{**PERSON, "external_id": PHRASE})


def test_a_row_with_a_private_key_stops_the_plan(tmp_path: Path) -> None:
    """A bulk run names the row and member before anything is sent."""
    service = Service({})
    with pytest.raises(wb.bulk.InvalidRows, match="row 2, merchant_name looks like a private key") as caught:
        wb.bulk.run(
            client_on(service).simulate_authorization,
            [SALE, {**SALE, "merchant_name": "0x" + HEX}],
            progress=False,
            rejects=tmp_path / "rejects.csv",  # the run is refused even if a rejects file is given
        )

    assert 0 == service.count
    assert not (tmp_path / "rejects.csv").exists()
    assert HEX not in caught.value.frame.to_csv()


def test_long_words_are_no_key() -> None:
    """Ordinary text evidence is sent."""
    service = Service({})
    words = "The merchant charged me twice for the same order, and has not answered any of my letters since the spring."
    client_on(service).update_dispute(dispute_id=CARD, text_evidence=words)

    assert 1 == service.count
