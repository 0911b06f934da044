"""Check a request before sending: rules, path segments, pasted keys, mistyped addresses, limits of the profile."""

import re
from collections.abc import Collection, Iterator
from functools import cache
from typing import Any

from workbench.base.errors import Problem, UsageError, advise, in_python
from workbench.base.schema import checks
from workbench.base.schema.fields import SECRET
from workbench.base.schema.walk import Member, members
from workbench.client.calls.guards import Limits
from workbench.service import chains
from workbench.service.chains.values import private_key_problem
from workbench.service.interface.convert import placeholders
from workbench.service.interface.table import Operation


def request_problems(
    operation: Operation[..., Any],
    request: object,
    allowing: Collection[str],
    *,
    check: bool,
    real: bool,
    limits: Limits,
) -> tuple[Problem, ...]:
    """Return the problems for which a request is refused; without problems, warn about suspicious values.

    `findings` documents the arguments.
    """
    problems, warned = findings(operation, request, allowing, check=check, real=real, limits=limits)
    if not problems:
        for problem in (*warned, *(address_warnings(request) if real else ())):
            advise(f"{operation.name}: {in_python(problem)}")
    return problems


def findings(
    operation: Operation[..., Any],
    request: object,
    allowing: Collection[str],
    *,
    check: bool = True,
    real: bool,
    limits: Limits,
) -> tuple[tuple[Problem, ...], tuple[Problem, ...]]:
    """Return the problems for which a request is refused, and the suspicious values.

    Args:
        request: The record, or its survey.
        check: Whether to check all rules. False refuses only values that cannot be sent or look like a private key,
            and, for a real service, mistyped addresses.
        real: Whether the service is real.
        limits: Limits of the profile for one call.
    """
    seen = checks.surveyed(request)
    in_path = path_problems(operation, seen.record)
    if not (seen.doubtful or limits.caps or in_path):
        return (), ()
    refused, warned = checks.cautions(seen, allowing)
    problems_found = checks.problems(seen, partial=check and "partial_address" in allowing)
    if not check:  # the caller wants the response to an invalid request, but ids must fit into the path
        paths = {member.wire for member in members(operation.request) if "{" + member.wire + "}" in operation.path}
        problems_found = tuple(problem for problem in problems_found if problem.rule == "text" or problem.path in paths)
    named = {problem.path for problem in problems_found}
    problems_found += tuple(problem for problem in in_path if problem.path not in named)
    problems = (*problems_found, *refused, *(cap_problems(limits, seen.record) if operation.effect else ()))
    if (check or real) and "unverified_address" not in allowing:
        problems += address_problems(seen)
    if pasted := pasted_keys(seen):
        places = {problem.path for problem in pasted}
        problems = (*pasted, *(problem for problem in problems if problem.path not in places))
    # A sandbox should get only national ids that were never issued, so no warning about them is needed there.
    return problems, tuple(problem for problem in warned if real or not problem.path.endswith("nationalId"))


_SEGMENT = r"(?!\.+$)[A-Za-z0-9._~:@!$&'()*+,=-]{1,100}"


_MISSING = frozenset({"nan", "nat", "na", "n/a", "none", "null", "nil", "undefined"})
"""Texts that programs write in place of a missing value, in lower case."""


def path_problems(operation: Operation[..., Any], request: object) -> tuple[Problem, ...]:
    """Return the arguments that do not fit into one path segment, or that represent a missing value."""
    form = (
        "must be one segment of a path: 1 to 100 letters, digits or characters of ._~:@!$&'()*+,=- and not dots alone"
    )
    problems = []
    for name, wire in _in_path(operation):
        value = getattr(request, name)
        if isinstance(value, str) and value.strip().lower() in _MISSING:
            problems.append(Problem(wire, "required", f"is empty: {value.strip()} stands for a missing value"))
        elif not (isinstance(value, str) and re.fullmatch(_SEGMENT, value)):
            problems.append(Problem(wire, "path", form))
    return tuple(problems)


@cache
def has_open_ids(operation: Operation[..., Any]) -> bool:
    """Return whether a path parameter may be a text other than a UUID. The survey does not check such a text."""
    in_path = {name for name, _ in _in_path(operation)}
    return any(member.name in in_path and member.about.rule.format != "uuid" for member in members(operation.request))


@cache
def _in_path(operation: Operation[..., Any]) -> tuple[tuple[str, str], ...]:
    in_path = placeholders(operation.path)
    return tuple((member.name, member.wire) for member in members(operation.request) if member.wire in in_path)


_SHORTEST = 47  # the shortest private key is a phrase of twelve words with three letters


def takes_hash(member: Member) -> bool:
    """Return whether a member may contain 64 hexadecimal digits: an external id, or another party's token."""
    return member.name == "external_id" or member.about.privacy is SECRET


def pasted_keys(request: object) -> tuple[Problem, ...]:
    """Return the members of a request that look like a private key or a seed phrase, with their wire paths."""
    problems = (
        private_key_problem(value, path, hash_expected=takes_hash(field))
        for path, field, value, _ in checks.surveyed(request).values()
        if isinstance(value, str) and len(value) >= _SHORTEST
    )
    return tuple(problem for problem in problems if problem is not None)


def address_problems(request: object) -> tuple[Problem, ...]:
    """Return a problem for each address with a wrong checksum, of another chain family, or with only zeros.

    Addresses that break the documented pattern are reported by the pattern check instead.
    """
    return tuple(
        Problem(path, "unverified_address", text, checks.allow("unverified_address"))
        for path, field, value, holder in _addresses(request)
        for text in _address_texts(field.name, value, getattr(holder, "chain_id", None))
    )


def address_warnings(request: object) -> tuple[Problem, ...]:
    """Return the addresses of a request in which a mistyped character cannot be detected."""
    return tuple(
        Problem(path, "no_checksum", "has no checksum, so a mistyped character cannot be detected")
        for path, _, value, _ in _addresses(request)
        if not chains.has_checksum(value)
    )


def _addresses(request: object) -> Iterator[tuple[str, Member, str, Any]]:
    for path, field, value, holder in checks.surveyed(request).values():
        pattern = str(field.about.rule.pattern)
        if isinstance(value, str) and field.about.rule.chain_address and re.fullmatch(pattern, value):
            yield path, field, value, holder


def _address_texts(name: str, value: str, chain: object) -> list[str]:
    try:
        problems = chains.address_problems(value, chain if type(chain) is int else None)
    except UsageError:  # without a valid chain id, addresses of every chain are accepted
        problems = chains.address_problems(value)
    # as a token, the zero address means Solana's native token
    if not problems and name != "token" and chains.is_zero_address(value):
        return ["is the zero address, which nobody holds"]
    return [str(problem) for problem in problems]


def cap_problems(limits: Limits, request: object) -> list[Problem]:
    """Return the amounts above the profile's limits and the recipients that are not on its list."""
    problems = []
    amount = getattr(request, "amount", None)
    native = getattr(request, "is_amount_native", False) is True
    cap, unit = (limits.native_amount, "native units") if native else (limits.amount, "cents")
    if isinstance(amount, str):
        amount = int(amount) if re.fullmatch(r"[0-9]{1,400}", amount) else None
    if type(amount) is int and cap is not None and amount > cap:
        message = f"exceeds this profile's limit of {cap:,} {unit} per call (limits)"
        problems.append(Problem("amount", "cap", message))
    elif native and limits.amount is not None and limits.native_amount is None:
        message = "is in native units, and this profile caps cents only; set limits.native_amount"
        problems.append(Problem("amount", "cap", message))
    recipient = getattr(request, "recipient_address", None)
    if limits.recipients is not None and recipient is not None and not _listed(recipient, limits.recipients):
        message = "is not on this profile's list of recipients (limits.recipients)"
        problems.append(Problem("recipientAddress", "allow_list", message))
    return problems


def _listed(address: str, allowed: Collection[str]) -> bool:
    if address in allowed:
        return True
    # In an EVM address, case only encodes a checksum. Other addresses are case-sensitive.
    return address[:2] == "0x" and address.lower() in {listed.lower() for listed in allowed if listed[:2] == "0x"}
