"""Command-line name of each operation: a noun and a verb, such as `workbench disputes update`."""

from typing import Any

from workbench.service.interface.table import Operation

_OWN_NAMES = {
    "simulate_authorization": ("transactions", "authorize"),
    "simulate_reversal": ("transactions", "reverse"),
    "simulate_refund": ("transactions", "refund"),
    "update_ubo": ("applications", "update-owner"),
    "create_user_application": ("applications", "create"),
    "list_rewards_activity": ("rewards", "list"),
}
"""Commands whose name differs from that of the operation."""


def command_of(operation: Operation[..., Any]) -> tuple[str, str]:
    """Return the noun and verb of an operation: `read_dispute` becomes `disputes read`."""
    verb, _, noun = operation.name.partition("_")
    plural = noun if noun.endswith("s") else f"{noun}s"
    return _OWN_NAMES.get(operation.name, (plural.replace("_", "-"), verb))
