"""Reads that show what a service does where the interface document is silent; none of them has an effect."""

from collections.abc import Callable
from contextlib import suppress
from functools import partial

from workbench.base.errors import ApiError, BadRequest, NoAnswer, UnexpectedAnswer
from workbench.client.calls.client import Client

NOBODY = "00000000-0000-4000-8000-000000000000"


def send_reads(api: Client, user_id: str | None) -> None:
    """Send at most seven reads: the contracts, rewards of an unknown user, and pages and types of those of a user.

    Args:
        user_id: A user with rewards; None leaves the pages and types out.

    Raises:
        WorkbenchError: The service cannot be reached, refuses the key, or does not implement this API.
    """
    with suppress(BadRequest):  # an answer too
        api.list_contracts()
    rewards = api.list_rewards_activity
    calls: list[Callable[[], object]] = [partial(rewards, user_id=NOBODY, limit=1)]
    if user_id is not None:
        of_user = partial(rewards, user_id=user_id)
        calls += [partial(of_user, limit=10), partial(of_user, limit=1), partial(of_user, limit=1, offset=1)]
        calls += [partial(of_user, type="earned", limit=10), partial(of_user, type="redeemed", limit=10)]
    for call in calls:
        with suppress(ApiError, NoAnswer, UnexpectedAnswer):
            call()
