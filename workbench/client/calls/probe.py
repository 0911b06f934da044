"""Verify assumptions about a real service with reads only."""

import re
from collections.abc import AsyncIterator, Awaitable, Callable
from enum import StrEnum
from typing import Any

import attrs

from workbench.base.errors import ApiError, BadRequest, NoAnswer, NotFound, NotSent, UnexpectedAnswer
from workbench.base.schema import checks
from workbench.service.interface.assumptions import assumptions
from workbench.service.interface.formats import STELLAR_ADDRESS
from workbench.service.interface.table import OPERATIONS

NOBODY = "00000000-0000-4000-8000-000000000000"


class Verdict(StrEnum):
    """Result of the probe of one assumption."""

    CONTRADICTED = "contradicted"
    CONFIRMED = "confirmed"
    UNTESTED = "untested"


@attrs.frozen(kw_only=True)
class Finding:
    """One assumption, its verdict, and the profile line to change if it is wrong."""

    id: str
    verdict: Verdict
    seen: str
    change: str

    def __str__(self) -> str:
        change = f"; change {self.change}" if self.verdict is Verdict.CONTRADICTED else ""
        return f"{self.verdict}: {self.id} ({self.seen}){change}"


class Findings(tuple[Finding, ...]):
    """All findings of a probe, contradicted ones first."""

    __slots__ = ()

    def of(self, verdict: str) -> tuple[Finding, ...]:
        """Return the findings with a verdict."""
        return tuple(finding for finding in self if finding.verdict == verdict)

    def __str__(self) -> str:
        tested = [str(finding) for finding in self if finding.verdict is not Verdict.UNTESTED]
        return "\n".join([*tested, f"untested: {len(self) - len(tested)} assumptions that cannot be checked by reads"])

    def __repr__(self) -> str:
        return f"<findings: {', '.join(f'{len(self.of(verdict))} {verdict}' for verdict in Verdict)}>"


Call = Callable[..., Awaitable[Any]]
"""Function that sends a read, from an operation and a mapping of arguments."""

Seen = AsyncIterator[tuple[str, bool, str]]
"""Observations: assumption id, whether it holds, and what was observed."""


async def verify(call: Call, user_id: str | None) -> Findings:
    """Verify assumptions about a service with at most seven reads; return the finding for each assumption.

    Args:
        call: Sends a read.
        user_id: A user with rewards; None tries the parameters of the rewards query on an unknown user only.

    Raises:
        ApiError: The service refused the first read, for example for a wrong key or path.
        NotSent: No connection to the service, for example for a closed port or broken TLS.
    """
    seen: dict[str, tuple[Verdict, str]] = {}
    for number, read in enumerate((_contracts(call), _unknown_user(call), _rewards(call, user_id))):
        try:
            async for assumption, fits, evidence in _refusals(read):
                if seen.get(assumption, ("",))[0] is not Verdict.CONTRADICTED:
                    seen[assumption] = (Verdict.CONFIRMED if fits else Verdict.CONTRADICTED, evidence)
        except (ApiError, NoAnswer, NotSent, UnexpectedAnswer) as error:
            if number == 0 and not isinstance(error, BadRequest):
                raise
    findings: dict[str, Finding] = {}
    for row in assumptions():
        verdict, evidence = seen.get(row.id, (Verdict.UNTESTED, "cannot be checked by reads"))
        findings.setdefault(row.id, Finding(id=row.id, verdict=verdict, seen=evidence, change=row.change))
    return Findings(sorted(findings.values(), key=lambda finding: [*Verdict].index(finding.verdict)))


async def _refusals(read: Seen) -> Seen:
    """Add findings that the refusal of a read supports."""
    try:
        async for finding in read:
            yield finding
    except ApiError as refusal:
        if refusal.status == 400:
            usual = refusal.error is not None and refusal.message is not None
            yield "validation_errors", usual, f"a 400 response has {'the usual' if usual else 'another'} body"
        raise


async def _contracts(call: Call) -> Seen:
    for contract in await call(OPERATIONS["list_contracts"], {}):
        for token in contract.tokens:
            if token.balance is not None:
                fits = token.balance.replace(".", "", 1).isdigit() and token.balance.isascii()
                yield "token.balance", fits, f"a balance is {'' if fits else 'not '}a decimal string"
            rate = token.advance_rate
            if rate is not None and rate not in (0, 1) and 0 < rate <= 100:
                yield "token.advance_rate", rate > 1, f"an advance rate of {rate}"
        chain = contract.chain_id
        if re.fullmatch(STELLAR_ADDRESS.pattern or "", contract.proxy_address or ""):
            yield "stellar_contracts", True, f"contract {contract.id} has addresses of this form"
            yield "chain_numbers", chain in {1500, 1501}, f"a contract on Stellar has the chain id {chain}"
        elif contract.program_address is not None:
            yield "chain_numbers", chain in {900, 901, 902}, f"a contract on Solana has the chain id {chain}"
        unknown = sorted({flag.path for flag in checks.flags(contract) if flag.rule == "unknown"})
        if unknown:
            text = f"a response has undocumented members: {', '.join(unknown[:5])}"
            yield "unknown_members", True, text


async def _unknown_user(call: Call) -> Seen:
    try:
        await call(OPERATIONS["list_rewards_activity"], {"user_id": NOBODY, "limit": 1})
    except NotFound:
        yield "list_rewards_activity.404.user", True, "404 for an unknown user"
        yield "list_rewards_activity.user_id", True, "the service looked up the user in the query"
    except ApiError as refusal:
        if refusal.status == 400:
            yield "list_rewards_activity.user_id", False, "a query with userId was refused with 400"
        raise


async def _rewards(call: Call, user_id: str | None) -> Seen:
    if user_id is None:
        return

    async def read(**query: Any) -> Any:
        return (await call(OPERATIONS["list_rewards_activity"], {"user_id": user_id, **query})).items

    items = await read(limit=10)
    if len(items) < 2:
        return
    first, second = await read(limit=1), await read(limit=1, offset=1)
    yield "list_rewards_activity.limit", len(first) == 1, f"limit 1 returned {len(first)} items"
    if first and second:
        moved = second[0] != first[0]
        text = f"offset 1 returned {'another' if moved else 'the same'} item"
        yield "list_rewards_activity.offset", moved, text
    yield "list_rewards_activity.user_id", True, "a user's items were returned"
    for kind in ("earned", "redeemed"):
        if any(item.type not in {None, kind} for item in items):
            only = all(item.type == kind for item in await read(type=kind, limit=10))
            text = f"type {kind} returned {'only those items' if only else 'other items too'}"
            yield "list_rewards_activity.type", only, text
    times = [item.created_at for item in items if item.created_at is not None]
    if len(times) == len(items):
        yield "rewards_order", times == sorted(times, reverse=True), "ten items in order of createdAt"
