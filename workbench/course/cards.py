"""Exercises about contracts, withdrawals, purchases and sequences."""

from collections.abc import Iterator
from decimal import Decimal
from itertools import combinations

from workbench.course.exercise import Exercise, SandboxEvidence, fits
from workbench.rendering import money

_MAX_REQUESTS = 12  # the last requests for a signature that are looked at


def _coffee(seen: SandboxEvidence) -> Iterator[str]:
    card = seen.guide["cards"]["active"][1]
    bought = seen.transactions(card=card, authorized=420)
    if not bought:
        yield "no authorization of 4.20 USD on the second active card of the guide."
        return
    if any(fits(one, {"status": "settled", "settled": 420}) for one in bought):
        return
    if bought[-1]["status"] == "authorized" and bought[-1]["held"] == 420:
        yield "the authorization is there, and is not settled yet."
    else:
        yield "the authorization is there, and was declined, reversed or settled in part; begin with a new one."


def _refused_contracts(seen: SandboxEvidence) -> Iterator[str]:
    if seen.calls("list_contracts", status=403):
        return
    others = [one["status"] for one in seen.requests if one["operation"] == "list_contracts" and one["status"] >= 400]
    if others:
        yield f"the service refused with {others[-1]}; a tenant that issues no corporate cards gets 403."
    else:
        yield "the service has not refused any request for contracts yet."


def _one_gold(seen: SandboxEvidence) -> Iterator[str]:
    contract = seen.guide["contracts"][0]
    gold = contract["tokens"][1]
    asked = seen.calls("sign_withdrawal", token=gold["address"])
    if not asked:
        yield "no request for a signature over the second token of the first contract."
        return
    native = [one for one in asked if one["body"].get("isAmountNative") == "true"]
    if not native:
        yield "the amount was in cents; use the token's native units."
        return
    whole = [one["body"] for one in native if one["body"].get("amount") == str(10 ** gold["decimals"])]
    first, second = contract["admin_addresses"][:2]
    if not whole:
        yield "the amount is not one whole token: a token has 10 to the power of its decimals native units."
    elif not any((one["adminAddress"], one["recipientAddress"]) == (first, second) for one in whole):
        yield "one whole token was requested, but not from the contract's first admin to its second."


def _forty(seen: SandboxEvidence) -> Iterator[str]:
    first = seen.guide["contracts"][0]
    token = first["tokens"][0]
    asked = seen.calls("sign_withdrawal", token=token["address"])
    cents = [int(one["body"]["amount"]) for one in asked if one["body"].get("isAmountNative") == "false"]
    if 4_000 not in cents:
        yield "no request for a signature over 40.00 USD of the first token."
    held = seen.state(first["id"])
    moved = Decimal(token["balance"]) - Decimal(held["tokens"][0]["balance"])
    executed = combinations(cents[-_MAX_REQUESTS:], held["nonce"] - first["nonce"])
    if not any(4_000 in amounts and sum(amounts) == moved * 100 for amounts in executed):
        yield f"the contract's balance went down by {moved} so far; the withdrawal of 40 has not been executed."


def _patience(seen: SandboxEvidence) -> Iterator[str]:
    first = seen.guide["contracts"][0]
    asked = seen.calls("sign_withdrawal", token=first["tokens"][0]["address"], amount="1100")
    if not asked:
        yield "no request for a signature over 11.00 USD of the first token."
        return
    waiting = ["withdrawal_pending" in one["assumed"] for one in asked]
    if waiting[-1]:
        yield "it answered `pending`, and was not asked again until the signature was ready; let the plan wait."
    elif sum(waiting) < 2:
        yield (
            f"it signed, after it answered `pending` {_times(sum(waiting))}. The same signature is returned until it expires: "
            "advance the sandbox's clock by eleven minutes, let it answer `pending` twice, and ask again."
        )


def _times(count: int) -> str:
    return {0: "0 times", 1: "once"}.get(count, f"{count} times")


def _hotel(seen: SandboxEvidence) -> Iterator[str]:
    stays = seen.transactions(authorized=20_000)
    if not stays:
        yield "no authorization of 200.00 USD."
        return
    wanted = {"status": "settled", "settled": 15_000, "refunded": 2_500}
    if any(fits(one, wanted) for one in stays):
        return
    last = stays[-1]
    if last["status"] != "settled":
        if last["held"] != 15_000:
            yield "the hold is not 150.00 USD: a reversal states the amount that remains."
        yield "the transaction is not settled yet."
    elif last["settled"] != 15_000:
        yield "it settled with another amount than 150.00 USD; begin with a new authorization."
    else:
        more = "" if last["refunded"] < 2_500 else "; begin with a new authorization"
        yield f"{money(last['refunded'])} was refunded, and 25.00 USD is needed{more}."


def _three_reasons(seen: SandboxEvidence) -> Iterator[str]:
    card = seen.guide["cards"]["active"][2]
    reasons = {one["declined_reason"] for one in seen.transactions(card=card, status="declined")}
    if len(reasons) < 3:
        so_far = {0: "nothing was declined", 1: "one reason"}.get(len(reasons), f"{len(reasons)} different reasons")
        yield f"{so_far} on the third active card so far, and three are needed."


def _sequence(seen: SandboxEvidence) -> Iterator[str]:
    back = [
        one["id"] for one in seen.transactions(authorized=3_000) if fits(one, {"settled": 3_000, "refunded": 2_000})
    ]
    if not back:
        yield "no transaction of 30.00 USD of which 20.00 USD was refunded."
        return
    tens = [str(one["path"]) for one in seen.calls("simulate_refund", amount=1_000)]
    if not any(sum(one in path for path in tens) == 2 for one in back):
        yield "the 20.00 USD did not go back in two refunds of 10.00 USD."


def _bad_day(seen: SandboxEvidence) -> Iterator[str]:
    refused = [one for one in seen.requests if str(one["operation"]).startswith("simulate_") and one["status"] == 400]
    if len(refused) < 2:
        yield f"the service refused {len(refused)} simulations with 400 so far; a bad day has at least two."
    if not seen.transactions(status="declined"):
        yield "no purchase was declined."
    if not seen.calls("simulate_authorization", merchantName="Cars for a Day"):
        yield "there is no purchase at Cars for a Day; the sequence of the catalogue has one."


EXERCISES = (
    Exercise(
        id="start-1",
        notebook="01-start-here",
        title="Buy a coffee",
        task="Authorize 4.20 USD at a coffee shop on the second active card of the guide, then settle it.",
        hints=(
            'The second active card is `guide["cards"]["active"][1]`, and an amount is a whole number of cents.',
            (
                "`api.simulate_authorization` answers with a transaction_id. Settling is a control of the sandbox, not a call of "
                "the interface: `api.sandbox.settle(...)` takes that id."
            ),
            (
                'coffee = api.simulate_authorization(card_id=guide["cards"]["active"][1], amount=420, currency="USD",\n'
                '    merchant_name="Example Coffee", merchant_category_code="5814")\n'
                "api.sandbox.settle(coffee.transaction_id)"
            ),
        ),
        check=_coffee,
    ),
    Exercise(
        id="contracts-1",
        notebook="02-browse-contracts",
        title="A refusal",
        task="Ask for the contracts with the key of the tenant that issues no corporate cards, and catch the refusal.",
        hints=(
            'The guide lists a key for each kind of tenant: `guide["api_keys"]`.',
            "A second client on the same sandbox takes base_url, api_key and transport=api.sandbox.transport().",
            (
                'other = wb.Client(base_url=guide["base_url"], api_key=guide["api_keys"]["no corporate cards"],\n'
                "    transport=api.sandbox.transport())\n"
                "try:\n"
                "    other.list_contracts()\n"
                "except wb.errors.Forbidden as refusal:\n"
                "    print(refusal)"
            ),
        ),
        check=_refused_contracts,
    ),
    Exercise(
        id="contracts-2",
        notebook="02-browse-contracts",
        title="One whole token",
        task=(
            "Ask for a signature over exactly one whole token of the second token of the first contract, in native units, from "
            "its first admin to its second."
        ),
        hints=(
            'The guide has what the interface does not show: `guide["contracts"][0]["tokens"][1]["decimals"]`.',
            (
                "One whole token is 10 ** decimals native units. In `sign_withdrawal` the amount is text, and is_amount_native "
                "states its unit."
            ),
            (
                "first = api.list_contracts()[0]\n"
                'api.sign_withdrawal(chain_id=first.chain_id, token=first.tokens[1].address, amount="1000000",\n'
                "    is_amount_native=True, admin_address=first.admin_addresses[0],\n"
                "    recipient_address=first.admin_addresses[1], collateral_contract_id=first.id)"
            ),
        ),
        check=_one_gold,
    ),
    Exercise(
        id="withdrawals-1",
        notebook="03-withdraw-collateral",
        title="Forty more",
        task="Bring a second withdrawal, of 40.00 USD, from plan to executed.",
        hints=(
            "Plan it like the first one, with another amount. List the contracts again first: the balance has changed.",
            (
                "The contract's nonce goes up with every executed withdrawal, and the guide shows it: "
                '`api.sandbox.guide()["contracts"][0]["nonce"]`.'
            ),
            (
                'plan = wb.withdrawals.plan(api, contract, token=token, amount=wb.withdrawals.usd("40.00"), admin=admin, to=to, decimals=6)\n'
                "withdrawal = plan.sign()\n"
                'message = withdrawal.typed_data(nonce=api.sandbox.guide()["contracts"][0]["nonce"])\n'
                "half = message.accept(api.sandbox.wallet(admin).sign(message))\n"
                "api.sandbox.execute(withdrawal.transaction(half, direct_transfer=True))"
            ),
        ),
        check=_forty,
    ),
    Exercise(
        id="withdrawals-2",
        notebook="03-withdraw-collateral",
        title="Wait for a signature",
        task="Let the service answer `pending` twice to a withdrawal of 11.00 USD, and let the plan wait for the signature.",
        hints=(
            "`api.sandbox.pending_first(times=2)` makes the service answer `pending` to the next two signature requests.",
            "`plan.sign(wait=60)` waits as long as the service says, and asks again.",
            (
                "api.sandbox.pending_first(times=2, retry_after=1)\n"
                'plan = wb.withdrawals.plan(api, contract, token=token, amount=wb.withdrawals.usd("11.00"), admin=admin, to=to, decimals=6)\n'
                "plan.sign(wait=60)"
            ),
        ),
        check=_patience,
    ),
    Exercise(
        id="purchases-1",
        notebook="08-simulate-purchases",
        title="A hotel stay",
        task="Authorize 200.00 USD, reverse it down to 150.00, settle, then refund 25.00. All on one transaction.",
        hints=(
            "Four steps on one transaction_id: authorize, reverse, settle, refund. A reversal states the amount that remains.",
            "`new_amount=15000` leaves 150.00 of the hold; the refund takes `amount=2500`.",
            (
                'stay = api.simulate_authorization(card_id=card, amount=20000, currency="USD", merchant_name="Example Hotel",\n'
                '    merchant_category_code="7011")\n'
                "api.simulate_reversal(transaction_id=stay.transaction_id, new_amount=15000)\n"
                "api.sandbox.settle(stay.transaction_id)\n"
                "api.simulate_refund(transaction_id=stay.transaction_id, amount=2500)"
            ),
        ),
        check=_hotel,
    ),
    Exercise(
        id="purchases-2",
        notebook="08-simulate-purchases",
        title="Three reasons",
        task="Get three purchases declined for three different reasons on the third active card of the guide.",
        hints=(
            "`help(api.simulate_authorization)` lists the reasons that can be requested.",
            '`decline_reason="cvv_mismatch"`, for example, requests a decline. It is an answer, not an error.',
            (
                'for reason in ("cvv_mismatch", "invalid_pin", "blocked_mcc"):\n'
                '    api.simulate_authorization(card_id=guide["cards"]["active"][2], amount=1000, currency="USD",\n'
                '        merchant_name="Example Shop", merchant_category_code="5411", decline_reason=reason)'
            ),
        ),
        check=_three_reasons,
    ),
    Exercise(
        id="sequences-1",
        notebook="09-script-sequences",
        title="Refund in two parts",
        task="Write a sequence that buys for 30.00 USD, settles, and refunds 10.00 twice. Run it.",
        hints=(
            "Four steps: simulate_authorization, settle, simulate_refund, simulate_refund.",
            'A later step refers to the answer of an earlier one: `ref("buy.transaction_id")`.',
            (
                'twice = Sequence(name="twice", steps=(\n'
                '    step("buy", "simulate_authorization", card_id=guide("cards.active"), amount=3000, currency="USD",\n'
                '         merchant_name="Example Shop", merchant_category_code="5411"),\n'
                '    step("settle", "settle", transaction_id=ref("buy.transaction_id")),\n'
                '    step("first", "simulate_refund", transaction_id=ref("buy.transaction_id"), amount=1000),\n'
                '    step("second", "simulate_refund", transaction_id=ref("buy.transaction_id"), amount=1000)))\n'
                "wb.sequences.run(twice, api)"
            ),
        ),
        check=_sequence,
    ),
    Exercise(
        id="sequences-2",
        notebook="09-script-sequences",
        title="A bad day",
        task="Find the sequence of a bad day in the catalogue, read it, and run it.",
        hints=(
            "`list(wb.sequences.catalogue)` gives the names.",
            "A sequence from the catalogue runs like one of your own: `wb.sequences.run(sequence, api)`.",
            'wb.sequences.run(wb.sequences.catalogue["a-bad-day"], api)',
        ),
        check=_bad_day,
    ),
)
