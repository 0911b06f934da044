"""Guesses about the service, held against a real one by reads alone."""

from collections.abc import Iterator
from decimal import Decimal
from enum import StrEnum
from typing import Any

import attrs

from workbench.errors import ApiError, InvalidRequest, NoAnswer, NotFound, NotSent, Problem, UnexpectedAnswer
from workbench.interface import checks
from workbench.interface.assumptions import assumptions
from workbench.interface.operation import Sync
from workbench.interface.rules import STELLAR_ADDRESS

NOBODY = "00000000-0000-4000-8000-000000000000"


class Verdict(StrEnum):
    """What a probe says of a guess."""

    CONFIRMED = "confirmed"
    CONTRADICTED = "contradicted"
    UNTESTED = "untested"


@attrs.frozen(kw_only=True)
class Finding:
    """One guess, what the probe says of it, and the line of the profile to change where it is wrong."""

    id: str
    verdict: Verdict
    seen: str
    change: str

    def __str__(self) -> str:
        change = f"; change {self.change}" if self.verdict is Verdict.CONTRADICTED else ""
        return f"{self.verdict}: {self.id} ({self.seen}){change}"


@attrs.frozen(repr=False)
class Findings:
    """All findings of one probe, those that were contradicted first."""

    all: tuple[Finding, ...]

    def of(self, verdict: str) -> tuple[Finding, ...]:
        """Return the findings of one verdict."""
        return tuple(one for one in self.all if one.verdict == verdict)

    def __iter__(self) -> Iterator[Finding]:
        return iter(self.all)

    def __len__(self) -> int:
        return len(self.all)

    def __str__(self) -> str:
        tested = [one for one in self.all if one.verdict is not Verdict.UNTESTED]
        untested = len(self.all) - len(tested)
        return "\n".join([*map(str, tested), f"untested: {untested} guesses that reads alone cannot show"])

    def __repr__(self) -> str:
        return f"<findings: {', '.join(f'{len(self.of(verdict))} {verdict}' for verdict in Verdict)}>"


Seen = dict[str, tuple[Verdict, str]]


def verify_assumptions(api: Any, *, user_id: str | None = None) -> Findings:
    """Probe a sandbox with reads only, and say which guesses it confirmed or contradicted.

    At most seven calls are made, none with an effect.

    Args:
        api: A client that answers at once.
        user_id: A user with rewards; without one the names of the rewards query are tried on nobody.
    """
    if not isinstance(api, Sync):
        raise InvalidRequest(f"takes a Client or a Session, not of type {type(api).__name__}", of="verify_assumptions")
    seen: Seen = {}
    _contracts(api, seen)
    _rewards(api, user_id, seen)
    order = {Verdict.CONTRADICTED: 0, Verdict.CONFIRMED: 1, Verdict.UNTESTED: 2}
    found: dict[str, Finding] = {}
    for guess in assumptions():
        verdict, what = seen.get(guess.id, (Verdict.UNTESTED, "reads alone do not show it"))
        found.setdefault(guess.id, Finding(id=guess.id, verdict=verdict, seen=what, change=guess.change))
    return Findings(tuple(sorted(found.values(), key=lambda one: order[one.verdict])))


def _say(seen: Seen, guess: str, fits: bool, what: str) -> None:
    if guess in seen and seen[guess][0] is Verdict.CONTRADICTED:
        return
    seen[guess] = (Verdict.CONFIRMED if fits else Verdict.CONTRADICTED, what)


def _contracts(api: Any, seen: Seen) -> None:
    try:
        contracts = api.list_contracts()
    except ApiError as refusal:
        _refusal(refusal, seen)
        return
    except (NoAnswer, NotSent, UnexpectedAnswer):
        return
    for contract in contracts:
        for token in contract.tokens:
            if token.balance is not None:
                whole = _decimal(token.balance) is not None
                _say(
                    seen,
                    "token.balance",
                    whole,
                    "a balance is decimal text" if whole else "a balance is no decimal text",
                )
            if token.advance_rate is not None:
                share = 1 < token.advance_rate <= 100
                if share or 0 < token.advance_rate < 1:
                    _say(seen, "token.advance_rate", share, f"an advance rate is {token.advance_rate}")
        on_stellar = _stellar(contract.proxy_address)
        if on_stellar:
            _say(seen, "stellar_contracts", True, f"contract {contract.id} has such addresses")
            _say(
                seen,
                "chain_numbers",
                contract.chain_id in {1500, 1501},
                f"a contract on Stellar has {contract.chain_id}",
            )
        elif contract.program_address is not None:
            _say(seen, "chain_numbers", contract.chain_id in {900, 901, 902}, f"one on Solana has {contract.chain_id}")
        odd = [one for one in checks.flags(contract) if one.rule == "unknown"]
        if odd:
            _say(seen, "unknown_members", True, f"an answer has members the document does not name: {_paths(odd)}")


def _decimal(text: str) -> Decimal | None:
    return Decimal(text) if text.replace(".", "", 1).isdigit() and text.isascii() else None


def _stellar(address: str | None) -> bool:
    import re

    return address is not None and re.fullmatch(STELLAR_ADDRESS.pattern or "", address) is not None


def _paths(problems: list[Problem]) -> str:
    return ", ".join(sorted({one.path for one in problems})[:5])


def _refusal(refusal: ApiError, seen: Seen) -> None:
    usual = refusal.error is not None and refusal.message is not None
    if refusal.status == 400:
        _say(seen, "validation_errors", usual, "a refusal with 400 has the usual body" if usual else "another body")


def _rewards(api: Any, user_id: str | None, seen: Seen) -> None:
    try:
        api.list_rewards_activity(user_id=NOBODY, limit=1)
    except NotFound:
        _say(seen, "list_rewards_activity.404.user", True, "an unknown user is 404")
        _say(seen, "list_rewards_activity.user_id", True, "the user asked for was looked for")
    except ApiError as refusal:
        _refusal(refusal, seen)
        if refusal.status == 400:
            _say(seen, "list_rewards_activity.user_id", False, "a query with userId was refused with 400")
    except (NoAnswer, NotSent, UnexpectedAnswer):
        return
    if user_id is None:
        return
    try:
        whole = api.list_rewards_activity(user_id=user_id, limit=10).items
        if len(whole) < 2:
            return
        first = api.list_rewards_activity(user_id=user_id, limit=1).items
        _say(seen, "list_rewards_activity.limit", len(first) == 1, f"limit 1 gave {len(first)}")
        second = api.list_rewards_activity(user_id=user_id, limit=1, offset=1).items
        if first and second:
            moved = second[0] != first[0]
            _say(
                seen, "list_rewards_activity.offset", moved, f"offset 1 gave {'another' if moved else 'the same'} item"
            )
        _say(seen, "list_rewards_activity.user_id", True, "a user's items came")
        for kind in ("earned", "redeemed"):
            if any(one.type not in {None, kind} for one in whole):
                page = api.list_rewards_activity(user_id=user_id, type=kind, limit=10).items
                only = all(one.type == kind for one in page)
                _say(
                    seen,
                    "list_rewards_activity.type",
                    only,
                    f"type {kind} gave {'only those' if only else 'others too'}",
                )
        times = [one.created_at for one in whole if one.created_at is not None]
        if len(times) == len(whole):
            _say(seen, "rewards_order", times == sorted(times, reverse=True), "ten items by createdAt")
    except ApiError as refusal:
        _refusal(refusal, seen)
    except (NoAnswer, NotSent, UnexpectedAnswer):
        return
