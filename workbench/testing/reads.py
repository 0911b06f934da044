"""Reads that show a service's behavior where the interface document is silent. None of the reads has an effect."""

from contextlib import suppress
from typing import Any

from workbench.base.errors import ApiError, BadRequest, NoAnswer, UnexpectedAnswer
from workbench.client.calls.client import Client

NOBODY = "00000000-0000-4000-8000-000000000000"
_PAGES: tuple[dict[str, Any], ...] = (
    {"limit": 10},
    {"limit": 1},
    {"limit": 1, "offset": 1},
    {"type": "earned", "limit": 10},
    {"type": "redeemed", "limit": 10},
)


def send_reads(api: Client, user_id: str | None) -> None:
    """Send at most seven reads: contracts, an unknown user's rewards, and the pages and types of a user's rewards.

    Args:
        user_id: Id of a user with rewards; None omits the reads of pages and types.

    Raises:
        WorkbenchError: The service cannot be reached, refuses the key, or does not implement this API.
    """
    with suppress(BadRequest):  # an error response also shows the service's behavior
        api.list_contracts()
    queries: list[dict[str, Any]] = [{"user_id": NOBODY, "limit": 1}]
    if user_id is not None:
        queries += [{"user_id": user_id, **query} for query in _PAGES]
    for query in queries:
        with suppress(ApiError, NoAnswer, UnexpectedAnswer):
            api.list_rewards_activity(**query)
