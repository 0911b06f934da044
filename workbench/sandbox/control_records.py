"""Records that controls return, and the JSON form in which a served sandbox sends them."""

from collections.abc import Mapping
from datetime import datetime
from decimal import Decimal
from functools import cache
from typing import Any, TypeVar, cast, get_args, get_origin

from workbench.base.schema.fields import OPEN, About, about, record
from workbench.base.schema.masks import DOTS, MaskedDict, masked
from workbench.base.schema.readers import write_time
from workbench.base.schema.walk import (
    Array,
    Choice,
    DateTime,
    DecimalNumber,
    Kind,
    build,
    is_record,
    leaves,
    members,
    record_of,
)
from workbench.sandbox.context import moment_of
from workbench.sandbox.store import Members, Record
from workbench.service.interface.convert import converter
from workbench.service.interface.events import EVENT_KINDS, AnyEvent, Event
from workbench.service.interface.formats import CENTS, ID, MOMENT
from workbench.service.interface.table import OPERATIONS

T = TypeVar("T")


@record
class ApplicationState:
    """Application status of a user, an owner or a company."""

    id: str = about("Id of the user, owner or company", ID)
    status: str = about("Application status")
    reason: str = about("Rejection labels; empty if there are none")


@record
class CardState:
    """Status of a card."""

    id: str = about("Id of the card", ID)
    status: str = about("Status: active, notActivated, locked or canceled")


@record
class CompanyState:
    """A company and the status of its application."""

    id: str = about("Id of the company", ID)
    status: str = about("Application status")
    owners: tuple[str, ...] = about("Ids of the owners")


@record
class RouteState:
    """A payment route."""

    id: str = about("Id of the payment route", ID)
    fiat_deposit: bool = about("Whether the route has a fiat deposit address, so that deposits can arrive")


@record
class Redemption:
    """A redemption of points."""

    id: str = about("Id of the item in the rewards activity")
    points: int = about("Number of redeemed points")
    status: str = about("Status: COMPLETED, PENDING or FAILED")
    left: int = about("Remaining minted points")


@record
class CardBalance:
    """The money of a card: available + held + posted - refunded = limit."""

    limit: int = about("Credit limit", CENTS)
    available: int = about("Available credit; negative if more than the limit was authorized", unit="cents")
    held: int = about("Amount held by open authorizations", CENTS)
    posted: int = about("Amount of settled transactions", CENTS)
    refunded: int = about("Refunded amount", CENTS)


@record
class DepositReceived:
    """A deposit on a payment route."""

    id: str = about("Id of the deposit", ID)
    processed: bool = about("Whether the deposit was processed; micro deposits are not")
    event: str | None = about("Kind of the event that was sent; absent if none was sent", default=None)


@record
class PendingSignatures:
    """Number of upcoming signature requests that are answered with `pending`."""

    times: int = about("Number of requests to answer with `pending`")
    retry_after: int = about("Value of `retryAfter` in the answers, in seconds")


@record
class Tenant:
    """A tenant of the sandbox."""

    id: str = about("Id of the tenant", ID)
    name: str = about("Name of the tenant, for `connect(tenant=…)`")
    team: str = about("Kind of team: individual or company")
    management: str = about("Who manages the contracts: self or provider")
    corporate_cards: bool = about("Whether the tenant issues corporate cards")
    keys: tuple[str, ...] = about("Names of the tenant's keys; the guide lists the keys by name")


@record
class TenantKey:
    """An API key of a tenant."""

    name: str = about("Name of the key")
    tenant: str = about("Name of the tenant")
    roles: tuple[str, ...] = about("Roles of the key")
    api_key: str = about("The key, for `connect(api_key=…)`")


@record
class WalletAddress:
    """The address of a teaching wallet."""

    address: str = about("Address of the wallet")


@record
class WalletSignature:
    """A signature of a teaching wallet."""

    address: str = about("Address of the wallet")
    signature: str = about("Signature as 0x hex")


@record
class ExecutedWithdrawal:
    """A withdrawal executed on the sandbox's chain."""

    contract_id: str = about("Id of the contract", ID)
    token: str = about("Address of the token")
    amount: str = about("Amount in the token's native units")
    recipient: str = about("Address of the recipient")
    balance: str = about("The contract's balance after the withdrawal, in whole tokens")
    nonce: int = about("The contract's nonce after the withdrawal")


@record
class SandboxTime:
    """The time of the sandbox."""

    now: datetime = about("Current time of the sandbox", MOMENT)


@record
class Snapshots:
    """Names of the saved states."""

    names: tuple[str, ...] = about("Names of the saved states, oldest first")


@record
class Endpoint:
    """A webhook endpoint."""

    id: str = about("Id of the endpoint", ID)
    url: str = about("URL of the endpoint")
    enabled: bool = about("Whether the endpoint receives deliveries")
    keys: int = about("Number of keys that sign: two after a rotation")


@record
class DeliveryAttempt:
    """One attempt to deliver an event."""

    at: datetime = about("Time of the attempt, by the sandbox's clock", MOMENT)
    status: int | None = about("HTTP status of the response; absent without a response", default=None)
    error: str | None = about("Reason for a missing response", default=None)
    length: int | None = about("Size of the response body in bytes; the body is not stored", default=None)
    fault: str | None = about("Kind of the fault rule that changed the delivery", default=None)
    milliseconds: int | None = about("Time until the response, if it took 1,000 ms or more", default=None)


@record
class Delivery:
    """The delivery of an event to an endpoint."""

    id: str = about("Id of the delivery")
    endpoint: str = about("Id of the endpoint", ID)
    sequence: int = about("Sequence number of the event")
    kind: str = about("Kind of the event, such as user.updated")
    event_id: str = about("Id of the event", ID)
    state: str = about("State: waiting, delivered or failed")
    due: datetime | None = about("Time of the next attempt of a waiting delivery", MOMENT, default=None)
    held: str | None = about("Reason why a fault rule delays the delivery", default=None)
    tried: int = about("Number of attempts since the last resend", default=0)
    attempts: tuple[DeliveryAttempt, ...] = about("Attempts, oldest first", default=())


@record
class FlushResult:
    """Result of a flush: whether all due deliveries were sent in time."""

    ok: bool = about("Whether no delivery is due")
    waiting: int = about("Number of deliveries that wait for their next attempt")


@record
class FaultRule:
    """A fault rule, with the number of calls or deliveries that it matched."""

    id: int = about("Number of the rule")
    kind: str = about("Kind of fault")
    of: str | None = about("Operation or kind of event that the rule is limited to; absent for any", default=None)
    nth: int | None = about("Only the nth matching call or delivery; absent for every match", default=None)
    times: int | None = about("Maximum number of times the rule applies; absent for no limit", default=None)
    probability: Any = about("Probability from 0 to 1")
    seconds: Any = about("Duration of the delay, or of a slow body, in seconds")
    status: int = about("HTTP status of a fault of the kind `status`")
    body: str = about("Format of the error body")
    answer: Any = about("JSON body of the response, instead of `body`", default=None)
    matching: Any = about("Only calls with these arguments, or events with these members", default=None)
    retry_after: int | None = about("Seconds in the Retry-After header", default=None)
    matched: int = about("Number of calls or deliveries that matched", default=0)
    applied: int = about("Number of times that the rule was applied", default=0)

    @property
    def used_up(self) -> bool:
        """Whether the rule can no longer apply: it has reached its number of times, or its nth match."""
        times_over = self.times is not None and self.applied >= self.times
        return times_over or (self.nth is not None and self.matched >= self.nth)


@record
class RequestEntry:
    """A request to the sandbox and its response. Private values are masked."""

    request_id: str | None = about("Id of the request, if it changed a record", default=None)
    operation: str | None = about("Operation; absent for an unknown path", default=None)
    method: str = about("HTTP method")
    path: str | None = about("Path; absent for an unknown route unless private values are revealed", default=None)
    status: int = about("HTTP status")
    assumptions: tuple[str, ...] = about("Ids of the assumptions behind the response", default=())
    at: datetime = about("Time of the response, by the sandbox's clock", MOMENT)
    seconds: Any = about("Time to process the request, in seconds")
    fault: str | None = about("Kind of the fault rule that applied", default=None)
    headers: Any = about("Headers of the request; keys and private values are masked", default=None)
    body: Any = about("Request body or query, masked", default=None)
    answer: Any = about("Response body, masked; error bodies unchanged", default=None)


class Envelope(MaskedDict):
    """An event in its wire format. Private values are masked in the repr."""

    __slots__ = ()

    def __init__(self, raw: Members) -> None:
        super().__init__({**raw, "body": MaskedDict(raw.get("body") or {})})

    def shown(self) -> Record:
        """Return the envelope with masked private values. The body of an unknown kind is masked entirely."""
        kind = EVENT_KINDS.get(f"{self.get('resource')}.{self.get('action')}")
        return {**self, "body": masked(dict(self["body"]), of=kind.body if kind else None)}


@record
class SandboxEvent:
    """An event that the sandbox sent, with its cause. Private values are masked in the repr."""

    sequence: int = about("Sequence number of the event, from 1")
    payload: Any = about("Webhook body: the event in its wire format")
    request_id: str = about("Id of the request that caused the event", ID)
    cause: str = about("Operation or control that caused the event, or `clock`")
    tenant: str = about("Tenant that receives the event")
    at: datetime = about("Time of the event, by the sandbox's clock", MOMENT)

    def __attrs_post_init__(self) -> None:
        object.__setattr__(self, "payload", Envelope(self.payload))

    @property
    def event(self) -> AnyEvent:
        """Return the event as an inbox receives it, with a typed body."""
        event: AnyEvent = converter().structure(self.payload, Event)
        return event


class StoredRecord(MaskedDict):
    """The stored form of a record, by attribute names. Private values are masked in the repr."""

    __slots__ = ()

    def shown(self) -> Record:
        """Return the record with masked private members."""
        shown: Record = _masked(self)
        return shown


@cache
def private_members() -> Mapping[str, About]:
    """Return the attributes that are private throughout the interface."""
    roots = [cls for row in OPERATIONS.values() for cls in (row.request, row.answer)]
    members = [leaf for cls in [*roots, *(kind.body for kind in EVENT_KINDS.values())] for _, leaf in leaves(cls)]
    opened = {member.name for member in members if member.about.privacy is OPEN}
    return {
        member.name: member.about for member in members if member.name not in opened and record_of(member.kind) is None
    }


def _masked(raw: object, name: str = "") -> Any:
    if isinstance(raw, Mapping):
        shown = {inner: _masked(value, inner) for inner, value in raw.items()}
        # The amount of a micro-deposit proves who owns the account. Only deposits have `originator_name`.
        if "originator_name" in raw:
            return {**shown, "amount": DOTS}
        return {**shown, "url": DOTS} if name.endswith("_link") else shown  # the link opens a person's application
    if isinstance(raw, list | tuple):
        return [_masked(item, name) for item in raw]
    about = private_members().get(name)
    return raw if about is None else about.mask(raw)


def to_json(result: object) -> Any:
    """Convert a result to JSON values. Records become objects by attribute name, and times become text."""
    if is_record(result):
        return {member.name: to_json(getattr(result, member.name)) for member in members(type(result))}
    if isinstance(result, list | tuple):
        return [to_json(item) for item in result]
    if type(result) is dict:
        return {name: to_json(value) for name, value in result.items()}
    if isinstance(result, Decimal):
        return str(result)
    return write_time(result) if isinstance(result, datetime) else result


def from_json(annotation: type[T], raw: Any) -> T:
    """Convert JSON values to the annotated return type of a control. Times are text or milliseconds."""
    cls: Any = annotation
    result = raw
    if get_origin(cls) is list:
        result = [from_json(get_args(cls)[0], value) for value in raw]
    elif isinstance(cls, type) and is_record(cls):
        result = build(cls, {member.name: _value(member.kind, raw.get(member.name)) for member in members(cls)})
    elif isinstance(cls, type) and issubclass(cls, MaskedDict):
        result = cls(raw)
    return cast("T", result)


def _value(kind: Kind, raw: Any) -> Any:
    if raw is None:
        return None
    if isinstance(kind, DateTime):
        return moment_of(raw) if isinstance(raw, int) else datetime.fromisoformat(raw)
    if isinstance(kind, DecimalNumber):
        return Decimal(raw)
    if isinstance(kind, Choice):
        return kind.of(raw) if raw in tuple(kind.of) else raw
    if isinstance(kind, Array):
        return tuple(_value(kind.of, item) for item in raw)
    of = record_of(kind)
    return raw if of is None else from_json(of, raw)
