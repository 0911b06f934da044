"""Exercises about contracts, withdrawals, purchases and sequences."""

from collections.abc import Iterator, Mapping
from decimal import Decimal
from itertools import combinations

from workbench.course.exercise import Check, SandboxEvidence, fits
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
        yield "the authorization is not settled yet."
    else:
        yield "the authorization was declined, reversed or settled in part; start with a new one."


def _refused_contracts(seen: SandboxEvidence) -> Iterator[str]:
    if seen.calls("list_contracts", status=403):
        return
    others = [one.status for one in seen.requests if one.operation == "list_contracts" and one.status >= 400]
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
    native = [one for one in asked if one.body.get("isAmountNative") == "true"]
    if not native:
        yield "the amount was in cents; use the token's native units."
        return
    whole = [one.body for one in native if one.body.get("amount") == str(10 ** gold["decimals"])]
    first, second = contract["admin_addresses"][:2]
    if not whole:
        yield "the amount is not one whole token: a token has 10 to the power of its decimals native units."
    elif not any((one["adminAddress"], one["recipientAddress"]) == (first, second) for one in whole):
        yield "one whole token was requested, but not from the contract's first admin to its second."


def _forty(seen: SandboxEvidence) -> Iterator[str]:
    first = seen.guide["contracts"][0]
    token = first["tokens"][0]
    asked = seen.calls("sign_withdrawal", token=token["address"])
    cents = [int(one.body["amount"]) for one in asked if one.body.get("isAmountNative") == "false"]
    if 4_000 not in cents:
        yield "no request for a signature over 40.00 USD of the first token."
    held = seen.state(first["id"])
    moved = Decimal(token["balance"]) - Decimal(held["tokens"][0]["balance"])
    executed = combinations(cents[-_MAX_REQUESTS:], held["nonce"] - first["nonce"])
    if not any(4_000 in amounts and sum(amounts) == moved * 100 for amounts in executed):
        yield f"the contract's balance decreased by {moved} tokens; the withdrawal of 40.00 USD has not been executed."


def _patience(seen: SandboxEvidence) -> Iterator[str]:
    first = seen.guide["contracts"][0]
    asked = seen.calls("sign_withdrawal", token=first["tokens"][0]["address"], amount="1100")
    if not asked:
        yield "no request for a signature over 11.00 USD of the first token."
        return
    waiting = ["withdrawal_pending" in one.assumptions for one in asked]
    if waiting[-1]:
        yield "the service answered `pending`, and the request was not repeated until the signature was ready; let the plan wait."
    elif sum(waiting) < 2:
        yield (
            f"the service signed after answering `pending` {_times(sum(waiting))}. It returns the same signature until it "
            "expires: advance the sandbox's clock by eleven minutes, set up two `pending` answers, and request it again."
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
        yield "the settled amount is not 150.00 USD; start with a new authorization."
    else:
        more = "" if last["refunded"] < 2_500 else "; start with a new authorization"
        yield f"{money(last['refunded'])} was refunded instead of 25.00 USD{more}."


def _three_reasons(seen: SandboxEvidence) -> Iterator[str]:
    card = seen.guide["cards"]["active"][2]
    reasons = {one["declined_reason"] for one in seen.transactions(card=card, status="declined")}
    if len(reasons) < 3:
        so_far = {0: "no purchase was declined", 1: "purchases were declined for one reason"}.get(
            len(reasons), f"purchases were declined for {len(reasons)} reasons"
        )
        yield f"{so_far} on the third active card so far; three different reasons are needed."


def _sequence(seen: SandboxEvidence) -> Iterator[str]:
    back = [
        one["id"] for one in seen.transactions(authorized=3_000) if fits(one, {"settled": 3_000, "refunded": 2_000})
    ]
    if not back:
        yield "no transaction of 30.00 USD of which 20.00 USD was refunded."
        return
    tens = [str(one.path) for one in seen.calls("simulate_refund", amount=1_000)]
    if not any(sum(one in path for path in tens) == 2 for one in back):
        yield "the 20.00 USD was not refunded in two parts of 10.00 USD."


def _bad_day(seen: SandboxEvidence) -> Iterator[str]:
    refused = [one for one in seen.requests if str(one.operation).startswith("simulate_") and one.status == 400]
    if len(refused) < 2:
        yield f"the service refused {len(refused)} simulations with 400 so far; the sequence `a-bad-day` causes at least two."
    if not seen.transactions(status="declined"):
        yield "no purchase was declined."
    if not seen.calls("simulate_authorization", merchantName="Cars for a Day"):
        yield "no purchase was made at Cars for a Day; the sequence `a-bad-day` contains one."


CHECKS: Mapping[str, Check] = {
    "start-1": _coffee,
    "contracts-1": _refused_contracts,
    "contracts-2": _one_gold,
    "withdrawals-1": _forty,
    "withdrawals-2": _patience,
    "purchases-1": _hotel,
    "purchases-2": _three_reasons,
    "sequences-1": _sequence,
    "sequences-2": _bad_day,
}
