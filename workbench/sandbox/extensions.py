"""Assumed behavior beyond the interface document. A setting turns each part on or off.

The assumed behavior covers a settle call, lists of payment routes, HTTP conventions (bearer tokens, idempotency keys,
rate limits), and members and values that a later release may add.
"""

import hashlib
from collections.abc import Callable, Collection, Mapping
from typing import Any

from workbench.base.schema.fields import LIVE, Answer, Reason, about, record
from workbench.base.schema.rules import Full
from workbench.sandbox.context import DAY, RequestContext
from workbench.sandbox.store import Members, Texts
from workbench.service.interface import effects, table
from workbench.service.interface.formats import CENTS, ID
from workbench.service.interface.table import Operation
from workbench.service.interface.transactions import SimulatedTransaction

_MINUTE = 60 * 1000
LATER = "addedLater"
"""Name and value of a member added by a simulated later release."""
_MAX_KEY = 255  # maximum length of an idempotency key, in characters


SETTLE_REASON = Reason(
    "the document has no call that settles, and refunds need a settled transaction; public clients use this call", LIVE
)
ROUTES_REASON = Reason("the endpoints for payment routes are not shown")


@record
class SettleTransaction:
    """Request to settle an authorization. Assumed: the request is undocumented."""

    transaction_id: str = about("Transaction to settle", ID)
    amount: int | Full = about("Amount to settle; FULL settles the entire hold", CENTS, minimum=1)


@record
class ListPaymentRoutes:
    """Request for the payment routes. Assumed: the request is undocumented."""


@record
class PaymentRoute(Answer):
    """A payment route. Its members are undocumented."""


_ALL: tuple[Operation[..., Any], ...] = (
    Operation(
        name="settle",
        doc="Settle an authorization.",
        method="POST",
        path="/simulate/transactions/{transactionId}/settle",
        takes=SettleTransaction,
        returns=SimulatedTransaction,
        effect=effects.Effect(
            label=lambda r: f"POST settlement of transaction {r.transaction_id}",
            confirm=effects.reversible,
            next_step="Look at the transaction.",
            evidence=None,
        ),
        sandbox_only=True,
        failures=table.Operations.simulate_refund.failures,
        source="assumed",
        assumed=SETTLE_REASON,
    ),
    *(
        Operation(
            name=name,
            doc=f"List payment routes{where}: an empty list.",
            method="GET",
            path=path,
            takes=ListPaymentRoutes,
            returns=list[PaymentRoute],
            effect=None,
            failures=(table.UNAUTHORIZED,),
            source="Versioning",
            assumed=ROUTES_REASON,
        )
        for name, path, where in (
            ("list_payment_routes", "/payment-routes", ""),
            ("list_automations", "/automations", ", at their former path"),
        )
    ),
)

ROWS: Mapping[str, Operation[..., Any]] = {row.name: row for row in _ALL}

ASSUMED: Texts = {
    "settle": "settle_route",
    "list_payment_routes": "payment_routes",
    "list_automations": "payment_routes",
}
"""Ids of the assumptions about these operations."""


def key_of(headers: Any, *, bearer: bool) -> str:
    """Return the API key of a request. assumed: bearer_keys"""
    kind, _, token = (headers.get("authorization") or "").partition(" ")
    return headers.get("api-key") or (token.strip() if bearer and kind.lower() == "bearer" else "")


def rehearse(settings: Members, answer: object, name: str) -> Any:
    """Return a response or event body as a later release may send it, with the extra members of a behavior.

    assumed: unknown_members, unknown_values, null_values, reversed_lists, extra_members
    """
    changed = _later(settings, answer)
    for place, added in settings["extra_members"].items():
        first, *path = place.split("/")
        changed = _with_members(changed, path, added) if first == name else changed
    return changed


def _with_members(answer: object, path: list[str], added: Members) -> Any:
    """Return an answer with members added to the objects at a path."""
    if isinstance(answer, list):
        return [_with_members(item, path, added) for item in answer]
    if not isinstance(answer, Mapping):
        return answer
    if not path:
        return {**answer, **added}
    if path[0] not in answer:
        return answer
    return {**answer, path[0]: _with_members(answer[path[0]], path[1:], added)}


def _later(settings: Members, answer: object) -> Any:
    changes = [settings[name] for name in ("unknown_members", "unknown_values", "null_values", "reversed_lists")]
    return _changed(answer, *changes) if any(changes) else answer


def _changed(answer: object, members: bool, values: Collection[str], nulls: Collection[str], backwards: bool) -> Any:
    if isinstance(answer, list):
        items = [_changed(item, members, values, nulls, backwards) for item in answer]
        return items[::-1] if backwards and isinstance(items[0] if items else None, Mapping) else items
    if not isinstance(answer, Mapping):
        return answer
    changed = {
        name: None
        if name in nulls
        else LATER
        if name in values and isinstance(value, str)
        else _changed(value, members, values, nulls, backwards)
        for name, value in answer.items()
    }
    return {**changed, LATER: True} if members else changed


class RateLimit:
    """Rate limiter that counts the requests of each key per minute of the sandbox's clock. assumed: rate_limit"""

    def __init__(self) -> None:
        self._minute = 0
        self._counts: dict[str, int] = {}

    def clear(self) -> None:
        """Clear the counts."""
        self._counts = {}

    def count(self, context: RequestContext, key: str) -> None:
        """Count a request, and add the rate limit headers to its response.

        Raises:
            ApiError: The limit is exceeded (429).
        """
        limit = context.settings["rate_limit"]
        if limit is None:
            return
        minute, passed = divmod(context.clock.ms, _MINUTE)
        if minute != self._minute:
            self._minute, self._counts = minute, {}
        count = self._counts[key] = self._counts.get(key, 0) + 1
        left, seconds = max(limit - count, 0), str(-(-(_MINUTE - passed) // 1000))
        context.headers |= {
            "x-ratelimit-limit": str(limit),
            "x-ratelimit-remaining": str(left),
            "x-ratelimit-reset": seconds,
        }
        context.assumed.append("rate_limit")
        if count > limit:
            context.headers["retry-after"] = seconds
            raise context.error(table.LIMITED)


def answer_once(
    context: RequestContext, headers: Any, request: tuple[str, str, bytes], answer: Callable[[], bytes]
) -> bytes:
    """Answer a write. If its idempotency key was used in the last 24 hours, return the stored response.

    assumed: idempotency_keys

    Raises:
        ApiError: The key is too long or has invalid characters (400), or a different request used the key (409).
    """
    key = headers.get("idempotency-key")
    if key is None or not context.settings["idempotency_keys"]:
        if key is not None:
            context.headers["workbench-ignored"] = "Idempotency-Key; the behavior idempotency_keys honors it"
        return answer()
    if not 1 <= len(key) <= _MAX_KEY or not key.isprintable() or not key.isascii():
        raise context.bad_request(f"Idempotency-Key must be 1 to {_MAX_KEY} ASCII characters", "idempotency_keys")
    context.headers["idempotency-key"] = key
    context.assumed.append("idempotency_keys")
    method, path, sent = request
    digest, known = hashlib.sha256(f"{method} {path}\n".encode() + sent).hexdigest(), f"{context.tenant['id']}:{key}"
    kept = context.store.get("idempotency", known)
    if kept is not None and kept["at"] > context.clock.ms - DAY:
        if kept["digest"] != digest:
            raise context.error(table.KEY_REUSED)
        context.headers["idempotency-cached"] = "true"
        return str(kept["body"]).encode()
    body = answer()
    context.store.put("idempotency", known, {"digest": digest, "at": context.clock.ms, "body": body.decode()})
    return body
