"""A plan is checked completely before a signature is requested."""

import attrs
import pytest

import workbench as wb
from tests.withdrawals.lessons import RECIPIENT, Service, answered, arguments, planned, problems
from workbench.base.errors import UsageError
from workbench.client.calls.guards import Limits
from workbench.client.withdrawals.terms import Terms, shortened
from workbench.service import chains, rendering
from workbench.service.chains.values import strkey_encode

ZEROS = {
    0: "0x" + "0" * 40,
    2: "1" * 32,
    3: strkey_encode("G", bytes(32)),
}
HALF = RECIPIENT.lower().replace("0x5a", "0x5A", 1)  # an address in mixed case without a valid checksum


def sent(api):
    """Return the number of requested signatures."""
    return len([entry for entry in api.journal if entry.operation == "sign_withdrawal"])


def test_a_valid_plan_summarizes_itself(api, contract):
    """The summary has admin, amount in both units, contract, chain and recipient, with complete addresses."""
    plan = planned(api)

    assert plan.warnings == ()
    assert plan.amount_text == "25.00 USD = 25,000,000 units of a token with 6 decimals"
    assert plan.summary == (
        f"{contract.admin_addresses[0]} takes 25.00 USD (25,000,000 native units) of the token "
        f"{contract.tokens[0].address} out of the contract {contract.proxy_address} on Base Sepolia (chain 84532) and "
        f"sends them to {RECIPIENT}."
    )
    assert sent(api) == 0


def test_a_plan_is_said_by_names(api, contract):
    """A plan shows amount, token, chain and admin by name, balances and credit, and the recipient's owner."""
    plan = planned(api)
    other = planned(api, to=contract.admin_addresses[1])
    second = planned(api, token=contract.tokens[1], names={RECIPIENT: "Treasury"})

    assert plan.headline == "25.00 USDC on Base Sepolia, admin 1"
    assert plan.balances == "25,000.5 tokens before, 24,975.5 after"
    assert plan.credit == "about 29,307.56 USD before, about 29,282.56 USD after"
    assert plan.owner.startswith("not known here")
    assert other.owner == "admin 2 of this contract"
    assert second.headline == "25.00 USD in XAUT (about 0.00943218) on Base Sepolia, admin 1"
    assert second.owner == "Treasury"
    for text in (str(plan), plan._repr_html_()):
        assert "25.00 USDC on Base Sepolia, admin 1" in text
        assert "24,975.5 after" in text


def test_what_no_one_named_is_its_address_in_short(api, contract):
    """A plain client knows no labels, so addresses are shortened. Unknown rates and balances are omitted."""
    bare = attrs.evolve(contract, tokens=(attrs.evolve(contract.tokens[0], balance=None, exchange_rate=None),))
    terms = Terms(bare, contract.tokens[0].address, wb.withdrawals.usd("25.00"), "0x" + "1" * 40, RECIPIENT, None)
    short = shortened(contract.tokens[0].address)

    assert (
        terms.headline
        == f"25.00 USD in token {short} on Base Sepolia, admin 0x1111…1111, which the contract does not list"
    )
    assert (terms.balances, terms.credit) == (None, None)
    units = attrs.evolve(terms, amount=wb.withdrawals.native_units(25))
    assert units.headline.startswith(f"25 native units of token {short} on Base Sepolia")


def test_every_character_is_shown(api):
    """Text and HTML show the recipient completely, and in groups of four."""
    plan = planned(api)

    for text in (str(plan), plan._repr_html_()):
        assert RECIPIENT in text
        assert "0x 5aAe b605 3F3E 94C9 b9A0 9f33 6694 35E7 Ef1B eAed" in text
        assert "25.00 USD = 25,000,000 units of a token with 6 decimals" in text


@pytest.mark.parametrize("number", [0, 1, 2, 3], ids=["EVM 2", "EVM 1", "Solana", "Stellar"])
def test_each_family(api, number):
    """A withdrawal can be planned from each contract of the sandbox, by record or id."""
    contract = api.list_contracts()[number]

    assert planned(api, number).warnings == ()
    assert planned(api, number, contract=contract, token=contract.tokens[0]).token == contract.tokens[0]
    assert wb.withdrawals.plan(api, **{**arguments(api, number), "contract": contract.id}).contract == contract


def test_all_problems_at_once(api, contract):
    """One error lists all problems, and nothing is sent."""
    found = problems(api, token=5, amount=2500, admin="vitalik.eth", to=ZEROS[0], decimals=6.0)

    assert set(found) == {"token", "amount", "admin", "to", "decimals"}
    assert "ENS and similar names are not looked up" in found["admin"]
    assert sent(api) == 0


MISTYPED = {
    "a line break": (RECIPIENT + "\n", "contains a line break"),
    "blanks": (f" {RECIPIENT}", "has spaces before or after it"),
    "a zero-width character": (RECIPIENT[:9] + "\u200b" + RECIPIENT[9:], "has an invisible character (U+200B)"),
    "a capital X": ("0X" + RECIPIENT[2:], "begins with 0X"),
    "a wrong checksum": (HALF, "has a wrong checksum: a character is probably mistyped"),
    "too short": (RECIPIENT[:-1], "has 39 hex digits after 0x; 40 are needed"),
    "no prefix": (RECIPIENT[2:], "put 0x before it"),
    "Solana": ("11111111111111111111111111111112", "is a Solana address, and Base Sepolia (chain 84532) takes an EVM one"),
    "a name": ("alice.eth", "is a name"),
    "a number": (5, "must be text"),
    "nothing": ("", "is empty"),
}  # fmt: skip


@pytest.mark.parametrize("value, words", MISTYPED.values(), ids=MISTYPED)
@pytest.mark.parametrize("path", ["token", "admin", "to"])
def test_mistyped_addresses(api, path, value, words):
    """A mistyped address is named, and the plan is refused."""
    assert words in problems(api, **{path: value})[path]


@pytest.mark.parametrize("number", [2, 3], ids=["Solana", "Stellar"])
def test_mistyped_addresses_on_other_chains(api, number):
    """Base58 lengths and Stellar checksums are checked, and EVM addresses are refused on these chains."""
    good = api.list_contracts()[number].admin_addresses[1]
    swapped = good[:20] + ("A" if good[20] != "A" else "B") + good[21:]

    assert "is an EVM address" in problems(api, number, to=RECIPIENT)["to"]
    if number == 2:
        assert "decodes to" in problems(api, number, to=good[:-2])["to"]
    else:
        assert "has a wrong checksum" in problems(api, number, to=swapped)["to"]


def test_a_token_the_contract_does_not_take(api, contract):
    """An unknown token is refused with the list of accepted tokens."""
    assert contract.tokens[1].address in problems(api, token=RECIPIENT)["token"]


def test_places_to_which_nothing_should_go(api, contract):
    """The zero address, a token, the contract and its controller are refused unless explicitly allowed."""
    places = [ZEROS[0], *(t.address for t in contract.tokens), contract.proxy_address, contract.controller_address]
    for place in (*places, contract.proxy_address.lower()):
        found = problems(api, to=place)

        assert "pass the last 8 characters of the recipient" in found["to"]
        assert planned(api, to=place, allow=place[-8:]).warnings[0].startswith(("overridden", "the recipient"))
        assert "must be the last 8 characters" in problems(api, to=place, allow="12345678")["allow"]


@pytest.mark.parametrize("number", ZEROS)
def test_the_zero_address_of_each_family(api, number):
    """The zero address of each chain family is refused."""
    assert "zero address" in problems(api, number, to=ZEROS[number])["to"]


def test_the_program_of_a_solana_contract(api):
    """A Solana contract's program is refused as a recipient."""
    contract = api.list_contracts()[2]

    assert "program" in problems(api, 2, to=contract.program_address)["to"]


@pytest.mark.parametrize(
    "amount, fits",
    [
        (wb.withdrawals.usd("25000.50"), True),
        (wb.withdrawals.usd("25000.51"), False),
        (wb.withdrawals.native_units(25_000_500_000), True),
        (wb.withdrawals.native_units(25_000_500_001), False),
    ],
)
def test_the_balance(api, amount, fits):
    """An amount above the balance is refused, exact to the last unit."""
    assert fits == (not problems(api, amount=amount))


def test_a_balance_that_cannot_be_compared(api, contract):
    """Without decimals, rate or balance a warning says that the balance was not compared."""
    bare = attrs.evolve(contract.tokens[0], balance=None, exchange_rate=None)

    for changes in (
        {"amount": wb.withdrawals.native_units(5), "decimals": None},
        {"contract": attrs.evolve(contract, tokens=(bare,))},
        {"contract": attrs.evolve(contract, tokens=(attrs.evolve(bare, balance="25.0"),))},
    ):
        assert any("covers it" in one or "compared" in one for one in planned(api, **changes).warnings)


def test_an_admin_the_contract_does_not_list(api, contract):
    """An unlisted admin gives a warning with the listed admins. The service's refusal says what to do."""
    plan = planned(api, admin=RECIPIENT, to=contract.admin_addresses[0])

    assert all(admin in plan.warnings[0] for admin in contract.admin_addresses)
    with pytest.raises(wb.errors.Forbidden, match=r"contractsAndSignatures:write .* is not an admin of this contract"):
        plan.sign()


def test_similar_addresses(api, contract):
    """A recipient that begins and ends like a known address gives a warning."""
    known = contract.admin_addresses[0]
    middle = known[6:-4]
    poison = chains.eip55(known[:6].lower() + middle[::-1].lower() + known[-4:].lower())

    assert any(
        f"begins and ends like an admin of the contract, {known}" in one for one in planned(api, to=poison).warnings
    )
    assert not planned(api, to=known).warnings


def test_one_case_carries_no_checksum(api):
    """A recipient in lower case is accepted with a warning about the missing checksum."""
    (warning,) = planned(api, to=RECIPIENT.lower()).warnings

    assert "has no checksum" in warning


def test_native_units_that_look_like_cents(api):
    """Native units that are worth less than a cent give a warning."""
    for units in (1, 2500):
        (warning,) = planned(api, amount=wb.withdrawals.native_units(units)).warnings
        assert warning == "the amount is worth less than a cent: check that native units are meant, not cents"


def test_the_list_of_recipients(contract):
    """The profile's list of recipients applies, and typing does not override it."""
    api = Service(contract, answered(contract), limits=Limits(recipients=(contract.admin_addresses[1].lower(),)))

    assert "limits.recipients" in problems(api)["to"]
    assert "limits.recipients" in problems(api, allow=RECIPIENT[-8:])["to"]
    assert problems(api, to=contract.admin_addresses[1]) == {}


@pytest.mark.parametrize("chain_id", [0, -1, True, 1 << 70], ids=["0", "-1", "True", "huge"])
def test_an_invalid_chain_id(api, contract, chain_id):
    """A chain id out of range refuses the plan."""
    assert "invalid chain id" in problems(api, contract=attrs.evolve(contract, chain_id=chain_id))["contract"]


def test_an_unknown_contract(api):
    """An unknown contract id is refused with the list of the tenant's contracts."""
    with pytest.raises(UsageError, match=api.list_contracts()[0].id):
        wb.withdrawals.plan(api, **{**arguments(api), "contract": "00000000-0000-4000-8000-000000000000"})


def test_unknown_versions_and_chains(api, contract):
    """In the sandbox unknown versions and chains give warnings."""
    unknown = attrs.evolve(contract, contract_version=3, chain_id=7777)

    assert [one.partition(";")[0] for one in planned(api, contract=unknown).warnings] == [
        "the contract has an unknown version: a signature can be requested, but no transaction can be built",
        "the contract is on EVM chain 7777, an unknown chain, treated as an EVM chain",
    ]


@pytest.mark.parametrize(
    "changes, path, words",
    [
        ({}, None, ""),
        ({"admin_addresses": (RECIPIENT,)}, "admin", "is not listed by the contract"),
        ({"admin_addresses": ()}, "admin", "it lists no admins"),
        ({"contract_version": 3}, "contract", "has an unknown version"),
        ({"chain_id": 7777}, "contract", "an unknown chain"),
        ({"chain_id": 84532}, "contract", "a test network, and this is production"),
    ],
    ids=["none", "another signer", "no signer", "version", "chain", "test network"],
)
def test_production_stops_at_what_is_unknown(contract, changes, path, words):
    """In production an unknown signer, chain or contract version refuses the plan, and typing does not override it."""
    admin = contract.admin_addresses[0]
    service = Service(attrs.evolve(contract, **{"chain_id": 1, **changes}), answered(contract))
    service.environment = "production"

    for allow in (None, RECIPIENT[-8:]):
        found = problems(service, contract=service.contract, admin=admin, allow=allow)
        assert (set(found), words in found.get(path, "")) == ({path} if path else set(), True)


@pytest.mark.parametrize("path", ["token", "admin", "to", "contract"])
@pytest.mark.parametrize("key", ["0x" + "5a" * 32, "legal winner thank year wave sausage worth useful legal winner thank yellow"])  # fmt: skip
def test_private_keys(api, path, key):
    """A text that looks like a private key is refused in every argument, and not quoted."""
    with pytest.raises(UsageError, match="Never paste a private key here") as caught:
        wb.withdrawals.plan(api, **{**arguments(api), path: key})

    assert key[:12] not in str(caught.value)


def test_an_asynchronous_client_is_refused():
    """A plan needs a synchronous client."""
    client = wb.AsyncClient(base_url="https://api.example.com", api_key="a-key")

    with pytest.raises(UsageError, match=r"must be a synchronous session from wb\.connect"):
        wb.withdrawals.plan(client, "an id", token="", amount=wb.withdrawals.native_units(1), admin="", to="")


def test_hostile_words_of_the_service(api, contract):
    """Markup and control characters from the service are shown as text."""
    evil = '<img src=x onerror="alert(1)">\u202e'
    token = attrs.evolve(contract.tokens[0], balance=evil)
    plan = planned(api, contract=attrs.evolve(contract, tokens=(token,)))

    assert "<img" not in plan._repr_html_()
    assert "\u202e" not in str(plan)


def test_rendering_shows_what_has_a_sheet(api):
    """The rendering package shows a plan's own sheet, as a notebook does."""
    plan = planned(api)

    assert str(plan) == rendering.plain(plan)
    assert plan._repr_html_() == rendering.html(plan)
