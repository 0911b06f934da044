"""Table of operations and their error responses. Each operation is a descriptor that becomes a method of both clients.

Source: Endpoints, Errors, Authentication.
"""

import inspect
import re
from collections.abc import Callable, Coroutine, Mapping
from functools import cache, cached_property
from typing import Any, Generic, Literal, ParamSpec, TypeVar, get_args, get_origin, overload
from urllib.parse import quote, unquote, urlencode

import attrs

from workbench.base.arguments import hide_arguments
from workbench.base.errors import STATUSES, ApiError, InvalidArguments
from workbench.base.frozen import frozen
from workbench.base.schema import walk
from workbench.base.schema.fields import ONCE, WIDELY, Reason
from workbench.service.interface import effects
from workbench.service.interface.contracts import IssuingContract, ListContracts, SignWithdrawal, WithdrawalSignature
from workbench.service.interface.effects import Effect
from workbench.service.interface.people import (
    CompanyApplication,
    CreatePaymentAccount,
    CreateUserApplication,
    DeletePaymentAccount,
    Deletion,
    PaymentAccount,
    UpdateUbo,
    UpdateUser,
    User,
)
from workbench.service.interface.transactions import (
    Dispute,
    ListRewardsActivity,
    RewardsActivity,
    SimulateAuthorization,
    SimulatedTransaction,
    SimulateRefund,
    SimulateReversal,
    UpdateDispute,
)
from workbench.service.interface.vocabulary import Role

P = ParamSpec("P")
R = TypeVar("R")


@frozen
class Failure:
    """A documented refusal of an operation, with the service's message."""

    status: int
    message: str  # may contain {names}, which the sandbox replaces with values
    when: str
    assumed: Reason | None = None

    @property
    def error(self) -> str:
        """The `error` text of the response body for the status."""
        return ERRORS[self.status]


ERRORS: Mapping[int, str] = {
    400: "BadRequestError", 401: "Unauthorized", 403: "ForbiddenError", 404: "NotFoundError",
    405: "MethodNotAllowedError", 408: "RequestTimeoutError", 409: "ConflictError", 413: "PayloadTooLargeError",
    415: "UnsupportedMediaTypeError", 421: "MisdirectedRequestError", 422: "UnprocessableEntityError",
    429: "TooManyRequestsError", 431: "RequestHeaderFieldsTooLargeError", 500: "InternalServerError",
    503: "ServiceUnavailableError",
}  # fmt: skip
"""Value of `error` in the response body, by status; undocumented values are the sandbox's choice. Source: Errors."""


class Sync:
    """Type marker of a client whose methods return answers."""


class Async:
    """Type marker of a client whose methods return awaitables."""


class Call(Generic[P, R]):
    """An operation bound to a client. Forms, bulk runs and commands use `operation` and `client`."""

    def __init__(self, operation: "Operation[..., Any]", client: Any) -> None:
        self.operation = operation
        self.client = client
        self.__name__ = self.__qualname__ = operation.name
        self.__doc__ = operation.help
        self.__signature__ = operation.signature

    def __get__(self, instance: object, owner: object = None) -> "Call[P, R]":
        """Return the object unchanged, as bound methods do, so that `help` and `inspect` treat it as a bound method."""
        return self

    @hide_arguments
    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R:
        if args:
            raise InvalidArguments("arguments must be given by keyword", of=self.__name__)
        answer: R = self.client.call(self.operation, kwargs)
        return answer

    def __repr__(self) -> str:
        return f"<operation {self.__name__} of {self.client!r}>"


_SELF = inspect.Parameter("self", inspect.Parameter.POSITIONAL_OR_KEYWORD)


@cache
def _path_pattern(path: str) -> re.Pattern[str]:
    return re.compile(re.sub(r"\\{(\w+)\\}", r"(?P<\1>[^/]+)", re.escape(path)))


@attrs.frozen(kw_only=True, eq=False, repr=False, slots=False)
class Operation(Generic[P, R]):
    """One operation of the interface: names, HTTP request, records, roles, errors, source and effect."""

    doc: str
    method: str
    path: str  # a template with {wireNames} of fields in the request
    takes: Callable[P, Any]
    returns: type[R]
    source: str
    effect: Effect | None  # what the call may change or authorize; None for a read
    # The client's method and the operationId are named after the request.
    name: str = attrs.field(default=attrs.Factory(lambda row: walk.snake(row.request.__name__), takes_self=True))
    roles: frozenset[Role] = frozenset()
    sandbox_only: bool = False
    failures: tuple[Failure, ...] = ()
    success: int = 200
    assumed: Reason | None = None

    # Operations look like functions to `help(Client.simulate_refund)`, editors and documentation tools.
    def __attrs_post_init__(self) -> None:
        self.__dict__.update(__name__=self.name, __qualname__=self.name)

    @property
    def __signature__(self) -> inspect.Signature:
        return self.signature.replace(parameters=[_SELF, *self.signature.parameters.values()])

    @overload
    def __get__(self, instance: None, owner: Any) -> "Operation[P, R]": ...
    @overload
    def __get__(self, instance: Sync, owner: Any) -> Call[P, R]: ...
    @overload
    def __get__(self, instance: Async, owner: Any) -> Call[P, Coroutine[object, None, R]]: ...
    def __get__(self, instance: object, owner: object) -> Any:
        return self if instance is None else Call(self, instance)

    def __call__(self, client: object, **arguments: Any) -> Any:
        """Call the operation on a client that is passed first: `Client.simulate_refund(client, …)`."""
        return Call(self, client)(**arguments)

    def target(self, path: Mapping[str, Any], query: Mapping[str, Any]) -> str:
        """Return the path with parameters filled in, and the query if there is one.

        Placeholders of missing parameters remain.
        """
        target = self.path
        for name, value in path.items():
            target = target.replace("{" + name + "}", quote(str(value), safe=""))
        if self.in_query and query:
            texts = {name: str(value).lower() if isinstance(value, bool) else value for name, value in query.items()}
            target += "?" + urlencode(texts, quote_via=quote)
        return target

    def in_path(self, path: str) -> dict[str, str] | None:
        """Return the path parameters in a requested path below the base URL, or None if the path does not match."""
        match = _path_pattern(self.path).fullmatch(path)
        return None if match is None else {name: unquote(value) for name, value in match.groupdict().items()}

    @property
    def request(self) -> type[Any]:
        """Record class of the request, whose fields are the arguments."""
        assert isinstance(self.takes, type)
        return self.takes

    @property
    def answer(self) -> type[Any]:
        """Record type of the answer or of its items."""
        return get_args(self.returns)[0] if self.many else self.returns

    @property
    def many(self) -> bool:
        """Whether the answer is a list."""
        return get_origin(self.returns) is list

    @property
    def in_query(self) -> bool:
        """Whether the arguments are sent in the query."""
        return self.method == "GET"

    @cached_property
    def signature(self) -> inspect.Signature:
        """Signature of the client method."""
        return inspect.signature(self.takes).replace(return_annotation=self.returns)

    @cached_property
    def help(self) -> str:
        """Docstring of the client method: purpose, arguments with units and rules, errors, source."""
        lines = [self.doc, ""]
        fields = walk.members(self.request)
        if fields:
            lines += ["Args:", *(f"    {field.name}: {walk.described(field)}" for field in fields), ""]
        lines += ["Returns:", f"    {'A list of ' if self.many else ''}{self.answer.__name__}.", "", "Raises:"]
        lines.append("    InvalidRequest: An argument breaks a rule; nothing was sent.")
        for failure in self.failures:
            raised = STATUSES.get(failure.status, ApiError).__name__
            lines.append(f"    {raised}: {failure.status} {failure.error}, {failure.when}.")
        if self.effect:
            lines.append("    OutcomeUnknown: The request was sent, and no answer shows whether it was carried out.")
        lines.append("")
        if self.roles:
            lines += [f"The key needs the role {', '.join(sorted(self.roles))}.", ""]
        if self.sandbox_only:
            lines += ["In the sandbox only.", ""]
        lines.append(f"Source: {self.source}.")
        return "\n".join(lines)

    def __repr__(self) -> str:
        return f"<operation {self.name}: {self.method} {self.path}>"


class _Doc:
    """Descriptor for `__doc__`: the help of an operation, built on access, or the docstring of the class."""

    def __init__(self, of_class: str | None) -> None:
        self._of_class = of_class

    def __get__(self, row: Operation[..., Any] | None, owner: object = None) -> str | None:
        return self._of_class if row is None else row.help


setattr(Operation, "__doc__", _Doc(Operation.__doc__))  # noqa: B010 - type checkers expect `__doc__` to be text


PREFIX = "/v1"
KEY_HEADER = "Api-Key"
VERSION = "1.3.0"
"""Version of the published interface description. Source: Versioning."""

VALIDATION = Reason("the document shows no error codes and messages of validation failures and conflicts")
UNKNOWN = Reason("the document shows no answer for a missing record")
PRODUCTION = Reason("the document does not specify the error of a simulation in production")
SIMULATION = Reason("the document shows no error responses of simulation endpoints")
WITHDRAWAL = Reason("the document shows no status codes and conditions of withdrawal errors")

UNAUTHORIZED = Failure(401, "Invalid or missing API key", "the key is missing or invalid")
FORBIDDEN = Failure(403, "Forbidden", "the caller is not allowed")
NO_CORPORATE_CARDS = Failure(403, "Forbidden", "the tenant does not issue corporate cards")
MISSING_ROLE = Failure(403, "Forbidden", "the key lacks the role the operation requires")
TEAM_NOT_FOUND = Failure(404, "Team not found", "the team is not found")
INVALID_ACCOUNT = Failure(400, "Invalid request", "the payment account is not valid")
ACCOUNT_NOT_FOUND = Failure(404, "Payment account not found", "no payment account has this id")
SERVER_FAILURE = Failure(500, "Internal server error", "the server failed")
NOT_IN_PRODUCTION = Failure(404, "Not Found", "a simulation is called in production", PRODUCTION)


def _bad(why: Reason = VALIDATION) -> Failure:
    return Failure(400, "{problems}", "the request breaks a rule", why)


def _unknown(what: str, why: Reason = UNKNOWN) -> Failure:
    return Failure(404, f"{what} not found", f"no {what.lower()} has this id", why)


LIMITED = Failure(429, "Rate limit exceeded", "the limit that the setting rate_limit states is exceeded")
KEY_REUSED = Failure(
    409, "The idempotency key was used for another request", "another request used this key (setting idempotency_keys)"
)
FILED_ALREADY = Failure(
    409, "The application was filed already", "an application with this id was already submitted", VALIDATION
)
DUPLICATE_EXTERNAL_ID = Failure(
    409, "External id already in use", "another user of the tenant has this external id", VALIDATION
)
WALLET_FIXED = Failure(400, "{family} wallet cannot be changed: {reason}", "the wallet cannot be changed", VALIDATION)
CARD_NOT_ACTIVE = Failure(400, "Card {card} is not active", "the card is not active", Reason(SIMULATION, WIDELY))
WRONG_STATE = Failure(400, "{reason}", "the record's state does not allow the action", SIMULATION)
CHANGED = (_bad(SIMULATION), WRONG_STATE, UNAUTHORIZED, _unknown("Transaction", SIMULATION), NOT_IN_PRODUCTION)
DISPUTE_STATE = attrs.evolve(WRONG_STATE, assumed=Reason("the document shows no dispute transitions"))
ASSET_NOT_FOUND = Failure(404, "Asset not found: {token}", "no contract accepts the token", Reason(WITHDRAWAL, WIDELY))
NOT_AN_ADMIN = Failure(
    403, "{address} is not an admin of the contract", "the withdrawing address is not an admin", WITHDRAWAL
)
SIGNATURE_ACTIVE = Failure(
    409, "Another withdrawal signature is still active", "another signature is still active", Reason(WITHDRAWAL, WIDELY)
)
NOT_ENOUGH = Failure(
    422,
    "Collateral balance of {token} in contract {contract} is lower than requested amount. "
    "Balance: {balance} Requested: {requested}",
    "the contract holds less than requested",
    Reason(WITHDRAWAL, ONCE),
)


class Operations:
    """The operations as methods. A `Sync` client returns answers, and an `Async` client returns awaitables."""

    list_contracts = Operation(
        doc="List the smart contracts of the tenant that owns the key.",
        method="GET",
        path="/issuing/tenants/contracts",
        takes=ListContracts,
        returns=list[IssuingContract],
        effect=None,
        failures=(UNAUTHORIZED, NO_CORPORATE_CARDS, TEAM_NOT_FOUND, SERVER_FAILURE),
        source="Endpoints 1",
    )
    sign_withdrawal = Operation(
        doc="Get a signature that authorizes a withdrawal, which moves funds.",
        method="GET",
        path="/issuing/tenants/signatures/withdrawals",
        takes=SignWithdrawal,
        returns=WithdrawalSignature,
        effect=effects.SIGN_WITHDRAWAL,
        roles=frozenset({Role.CONTRACTS_AND_SIGNATURES_WRITE}),
        failures=(
            _bad(WITHDRAWAL),
            UNAUTHORIZED,
            MISSING_ROLE,
            NOT_AN_ADMIN,
            ASSET_NOT_FOUND,
            attrs.evolve(TEAM_NOT_FOUND, assumed=Reason(WITHDRAWAL, WIDELY)),
            SIGNATURE_ACTIVE,
            NOT_ENOUGH,
            SERVER_FAILURE,
        ),
        source="Endpoints 2",
    )
    simulate_authorization = Operation(
        doc="Trigger a card authorization exactly as if a merchant had initiated it.",
        method="POST",
        path="/simulate/transactions/authorize",
        takes=SimulateAuthorization,
        returns=SimulatedTransaction,
        effect=effects.SIMULATE_AUTHORIZATION,
        sandbox_only=True,
        failures=(_bad(SIMULATION), CARD_NOT_ACTIVE, UNAUTHORIZED, _unknown("Card", SIMULATION), NOT_IN_PRODUCTION),
        source="Endpoints 3",
    )
    simulate_reversal = Operation(
        doc="Reverse an open authorization, in full or down to a remaining amount.",
        method="POST",
        path="/simulate/transactions/{transactionId}/reverse",
        takes=SimulateReversal,
        returns=SimulatedTransaction,
        effect=effects.SIMULATE_REVERSAL,
        sandbox_only=True,
        failures=CHANGED,
        source="Endpoints 4",
    )
    simulate_refund = Operation(
        doc="Refund a settled transaction, in full or in part, as a credit to the cardholder.",
        method="POST",
        path="/simulate/transactions/{transactionId}/refund",
        takes=SimulateRefund,
        returns=SimulatedTransaction,
        effect=effects.SIMULATE_REFUND,
        sandbox_only=True,
        failures=CHANGED,
        source="Endpoints 5",
    )
    create_payment_account = Operation(
        doc="Create a payment account usable as a destination for payment routes and transfers.",
        method="POST",
        path="/payment-accounts",
        takes=CreatePaymentAccount,
        returns=PaymentAccount,
        effect=effects.CREATE_PAYMENT_ACCOUNT,
        failures=(INVALID_ACCOUNT, UNAUTHORIZED, FORBIDDEN, TEAM_NOT_FOUND, SERVER_FAILURE),
        source="Endpoints 6",
        assumed=Reason("the document does not show the success status; 200 is assumed, any 2xx is accepted"),
    )
    delete_payment_account = Operation(
        doc="Delete a payment account.",
        method="DELETE",
        path="/payment-accounts/{paymentAccountId}",
        takes=DeletePaymentAccount,
        returns=Deletion,
        effect=effects.DELETE_PAYMENT_ACCOUNT,
        failures=(_bad(), UNAUTHORIZED, FORBIDDEN, ACCOUNT_NOT_FOUND, SERVER_FAILURE),
        success=204,
        source="Endpoints 7",
        assumed=Reason(
            "the document shows no success status and no body; 204 without a body is assumed, any 2xx is accepted"
        ),
    )
    update_user = Operation(
        doc="Update a user; omitted fields are unchanged.",
        method="PATCH",
        path="/issuing/users/{userId}",
        takes=UpdateUser,
        returns=User,
        effect=effects.UPDATE_USER,
        failures=(_bad(), WALLET_FIXED, UNAUTHORIZED, _unknown("User"), DUPLICATE_EXTERNAL_ID),
        source="Endpoints 8",
    )
    update_ubo = Operation(
        doc="Let a company's owner (UBO) reapply with updated data.",
        method="PATCH",
        path="/issuing/applications/company/{companyId}/ubo/{uboId}",
        takes=UpdateUbo,
        returns=CompanyApplication,
        effect=effects.UPDATE_UBO,
        failures=(_bad(), UNAUTHORIZED, _unknown("Company"), _unknown("Owner")),
        source="Endpoints 9",
    )
    update_dispute = Operation(
        doc="Cancel a dispute, or add text evidence to it.",
        method="PATCH",
        path="/issuing/disputes/{disputeId}",
        takes=UpdateDispute,
        returns=Dispute,
        effect=effects.UPDATE_DISPUTE,
        failures=(_bad(), DISPUTE_STATE, UNAUTHORIZED, _unknown("Dispute")),
        source="Endpoints 10",
        assumed=Reason(
            "the document does not show the response body; a dispute is expected, an empty body is accepted too", WIDELY
        ),
    )
    create_user_application = Operation(
        doc="Create a consumer application for a user, which then goes through KYC review.",
        method="POST",
        path="/issuing/applications/user",
        takes=CreateUserApplication,
        returns=User,
        effect=effects.CREATE_USER_APPLICATION,
        failures=(_bad(), UNAUTHORIZED, FORBIDDEN, _unknown("User"), FILED_ALREADY, DUPLICATE_EXTERNAL_ID),
        source="Endpoints 11",
    )
    list_rewards_activity = Operation(
        doc="List one page of a user's rewards activity: earned and redeemed items.",
        method="GET",
        path="/issuing/rewards/activity",
        takes=ListRewardsActivity,
        returns=RewardsActivity,
        effect=None,
        roles=frozenset({Role.REWARDS_READ}),
        failures=(_bad(), UNAUTHORIZED, MISSING_ROLE, _unknown("User")),
        source="Endpoints 12",
    )


OperationName = Literal[
    "list_contracts",
    "sign_withdrawal",
    "simulate_authorization",
    "simulate_reversal",
    "simulate_refund",
    "create_payment_account",
    "delete_payment_account",
    "update_user",
    "update_ubo",
    "update_dispute",
    "create_user_application",
    "list_rewards_activity",
]
"""Names of the operations, for type checkers."""
OPERATIONS: Mapping[str, Operation[..., Any]] = {
    row.name: row for row in vars(Operations).values() if isinstance(row, Operation)
}
"""The operations by name, in the document's order."""
