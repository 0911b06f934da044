"""Build checked requests from arguments or wire bodies: arguments, wire names, pasted keys, mistyped addresses."""

import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from decimal import Decimal
from functools import cache
from typing import Any

from workbench import chains
from workbench.chains.values import private_key_problem
from workbench.client.guards import Limits
from workbench.errors import InvalidArguments, InvalidRequest, Problem, UsageError, advise, visible
from workbench.interface.convert import Converter, placeholders
from workbench.interface.events import EVENT_KINDS
from workbench.interface.table import KEY_HEADER, OPERATIONS, Operation
from workbench.schema import checks, strict_json
from workbench.schema.fields import SECRET
from workbench.schema.walk import Member, UnknownMember, build, members, records, snake

# arguments


def argument_problems(operation: Operation[..., Any], arguments: Mapping[str, Any]) -> tuple[Problem, ...]:
    """Return every problem of a call with unknown arguments, including the broken rules of the known ones."""
    strange: list[UnknownMember] = []
    problems = checks.problems(build(operation.request, arguments, strange))
    unknown = [
        Problem(
            unknown_name.prefix + visible(str(name), 60),
            "unknown",
            f"is not an argument{_instead(str(name), unknown_name.of)}",
        )
        for unknown_name in strange
        for name in unknown_name.names
    ]
    # A member given by its wire name is named once, as unknown, and not as missing besides.
    spelled = {snake(problem.path) for problem in unknown}
    return (
        *unknown,
        *(problem for problem in problems if problem.rule != "required" or snake(problem.path) not in spelled),
    )


def _near(name: str, known: Iterable[str]) -> list[str]:
    import difflib  # only for what is wrong

    return difflib.get_close_matches(name, list(known), n=1)


def _instead(name: str, cls: type[Any]) -> str:
    fields = [member.name for member in members(cls)]
    near = _near(snake(name), fields)
    return f"; did you mean {near[0]}?" if near else f"; there are {', '.join(fields)}" if fields else ""


# wire bodies


def from_wire(operation: object, body: object, converter: Converter, path_arguments: Mapping[str, str]) -> Any:
    """Read a wire body as the request of an operation; see `Client.from_wire`."""
    row = OPERATIONS.get(operation) if isinstance(operation, str) else getattr(operation, "operation", operation)
    if not isinstance(row, Operation):
        raise InvalidArguments(f"no operation {visible(str(operation), 60)!r} (known: {', '.join(OPERATIONS)})")
    raw = _object(body, row)
    of_path = {member.name: member.wire for member in members(row.request) if member.wire in placeholders(row.path)}
    strange = [name for name in path_arguments if name not in of_path]
    if strange:
        there = f"; there are {', '.join(of_path)}" if of_path else "; there is none"
        raise InvalidArguments(
            [Problem(visible(name, 60), "unknown", f"is not part of the path{there}") for name in strange], of=row.name
        )
    # An id may also stand in the body, as in a log; it is taken from there.
    path = {wire: raw[wire] for wire in of_path.values() if wire in raw}
    path |= {of_path[name]: value for name, value in path_arguments.items()}
    rest = {name: _as_text(value) if row.in_query else value for name, value in raw.items() if name not in path}
    request, problems, unknown = converter.read_request(row, rest, path, from_query=row.in_query)
    if problems:
        raise InvalidRequest(problems, of=row.name)
    if unknown:
        shown = visible(", ".join(unknown), 200)
        advise(f"{row.name}: the interface does not know {shown}; it is left out")
    return request


def _as_text(value: object) -> Any:
    """A query holds text; where it is kept as JSON, its numbers and flags have their own types."""
    if isinstance(value, bool):
        return str(value).lower()
    return str(value) if isinstance(value, int | Decimal) else value


def _object(body: object, row: Operation[..., Any]) -> Mapping[str, Any]:
    if body is None:
        return {}
    if isinstance(body, Mapping):
        return body
    wrong = "must be JSON text or an object"
    if isinstance(body, str | bytes):
        try:
            parsed = strict_json.loads(body if isinstance(body, bytes) else body.encode("utf-8", "surrogatepass"))
            if isinstance(parsed, Mapping):
                return parsed
            wrong = "must be a JSON object"
        except strict_json.NotJson as error:
            wrong = f"cannot be read: {error}"
    raise InvalidRequest([Problem("", "json", wrong)], of=row.name)


# wire names and headers


def wire_name_problems(names: Mapping[str, Any], where: str = "wire_names") -> list[Problem]:
    """Return the problems of a table of wire names."""
    known = _renamable() if names else {}
    problems = []
    for name, wire in names.items():
        path = f'{where}."{visible(str(name), 80)}"'
        if name not in known:
            near = _near(str(name), known)
            problems.append(Problem(path, "unknown", f"names no field{f'; did you mean {near[0]}?' if near else ''}"))
        elif not isinstance(wire, str) or not wire or not wire.isascii() or not wire.isidentifier():
            problems.append(Problem(path, "type", "must be the name of a member, as declineReason"))
        elif wire in {
            names.get(key, member.wire)
            for member in members(known[name])
            if (key := f"{snake(known[name].__name__)}.{member.name}") != name
        }:
            problems.append(Problem(path, "twice", f"is {wire!r}, as another member of the record is"))
    return problems


def _renamable() -> dict[str, type[Any]]:
    """Return each field that has a wire name of its own, with its record. What stands in a path has none."""
    kinds = [cls for row in OPERATIONS.values() for cls in (row.request, row.answer)]
    in_paths = {(row.request, wire) for row in OPERATIONS.values() for wire in placeholders(row.path)}
    return {
        f"{snake(record.__name__)}.{field.name}": record
        for cls in [*kinds, *(kind.body for kind in EVENT_KINDS.values())]
        for record in records(cls)
        for field in members(record)
        if (record, field.wire) not in in_paths
    }


_OURS = frozenset({KEY_HEADER.lower(), "host", "accept", "accept-encoding", "content-type", "content-length"})


def header_problem(name: object) -> str | None:
    """Return the problem of an additional header's name; None if it is valid."""
    if not isinstance(name, str) or re.fullmatch(r"[A-Za-z][A-Za-z0-9-]{0,63}", name) is None:
        return "must be the name of a header"
    return "is a header that the client sets itself" if name.lower() in _OURS else None


# checks


def request_problems(
    operation: Operation[..., Any],
    request: object,
    allowing: Collection[str],
    *,
    check: bool,
    real: bool,
    limits: Limits,
) -> tuple[Problem, ...]:
    """Return all for which a request is refused; where there is nothing, warn of what looks wrong. See `findings`."""
    problems, warned = findings(operation, request, allowing, check=check, real=real, limits=limits)
    if not problems:
        for problem in (*warned, *(address_warnings(request) if real else ())):
            advise(f"{operation.name}: {problem}")
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
    """Return all for which a request is refused, and what looks wrong besides.

    Args:
        request: The record, or its survey.
        check: False refuses only what cannot be sent, what looks like a private key, and mistyped addresses to a real
            service.
        real: Whether a real service answers.
        limits: What a profile allows a call.
    """
    seen = checks.surveyed(request)
    in_path = path_problems(operation, seen.record)
    if not (seen.doubtful or limits.caps or in_path):
        return (), ()
    refused, warned = checks.cautions(seen, allowing)
    problems_found = checks.problems(seen, partial=check and "partial_address" in allowing)
    if not check:  # the service's answer to a wrong request may be wanted, but an id has to fit into a path
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
    # A number that was never issued is what a sandbox should get.
    return problems, tuple(problem for problem in warned if real or not problem.path.endswith("nationalId"))


_SEGMENT = re.compile(r"(?!\.+$)[A-Za-z0-9._~:@!$&'()*+,=-]{1,100}")


def path_problems(operation: Operation[..., Any], request: Any) -> tuple[Problem, ...]:
    """Return the arguments that do not fit into one segment of a path, whatever their own rules say."""
    return tuple(
        Problem(
            wire,
            "path",
            "must be one segment of a path: 1 to 100 printable ASCII characters without / ? # % and not dots alone",
        )
        for name, wire in _in_path(operation)
        if not (isinstance(value := getattr(request, name), str) and _SEGMENT.fullmatch(value))
    )


@cache
def has_open_ids(operation: Operation[..., Any]) -> bool:
    """Whether a member of the path may be another text than a UUID, which the survey passes by."""
    in_path = {name for name, _ in _in_path(operation)}
    return any(member.name in in_path and member.about.rule.format != "uuid" for member in members(operation.request))


@cache
def _in_path(operation: Operation[..., Any]) -> tuple[tuple[str, str], ...]:
    in_path = placeholders(operation.path)
    return tuple((member.name, member.wire) for member in members(operation.request) if member.wire in in_path)


_SHORTEST = 47  # twelve words of three letters; any other private key is longer


def takes_hash(member: Member) -> bool:
    """Return whether a member may hold 64 hexadecimal digits: an external id, or another party's token."""
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
    """Return the addresses of a request with a wrong checksum, of another chain's family, or of zero bytes.

    What breaks the interface's own pattern is left to its rules.
    """
    return tuple(
        Problem(path, "unverified_address", f"{text}; allowing(unverified_address=True) sends it")
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
    except UsageError:  # the chain id breaks a rule of its own
        problems = chains.address_problems(value)
    if (
        not problems and name != "token" and chains.is_zero_address(value)
    ):  # on Solana the native token may be written so
        return ["is the zero address, which nobody holds"]
    return [str(problem) for problem in problems]


def cap_problems(limits: Limits, request: object) -> list[Problem]:
    """Return where a request is above what a profile allows a call, or goes to an address that is not on its list."""
    problems = []
    amount = getattr(request, "amount", None)
    native = getattr(request, "is_amount_native", False) is True
    cap, unit = (limits.native_amount, "native units") if native else (limits.amount, "cents")
    if isinstance(amount, str):
        amount = int(amount) if re.fullmatch(r"[0-9]{1,400}", amount) else None
    if type(amount) is int and cap is not None and amount > cap:
        problems.append(Problem("amount", "cap", f"is above the {cap:,} {unit} a call of this profile (limits)"))
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
    # The case of an EVM address is its check sum, not part of it; elsewhere case counts.
    return address[:2] == "0x" and address.lower() in {listed.lower() for listed in allowed if listed[:2] == "0x"}
