"""Names of operations: noun and verb of each command, and lookup of an operation by any spelling of its name."""

import re
from typing import Any

from workbench.base.errors import Problem, unknown_name
from workbench.service.interface.table import OPERATIONS, Operation

_OWN_NAMES = {
    "simulate_authorization": ("transactions", "authorize"),
    "simulate_reversal": ("transactions", "reverse"),
    "simulate_refund": ("transactions", "refund"),
    "update_ubo": ("users", "update-owner"),
    "create_user_application": ("users", "create"),
    "list_rewards_activity": ("rewards", "list"),
}
"""Noun and verb of commands that are not derived from the operation's name."""


def command_of(operation: Operation[..., Any]) -> tuple[str, str]:
    """Return the noun and verb of an operation: `read_dispute` becomes `disputes read`."""
    verb, _, noun = operation.name.partition("_")
    plural = noun if noun.endswith("s") else f"{noun}s"
    return _OWN_NAMES.get(operation.name, (plural.replace("_", "-"), verb))


def operation_named(text: str) -> Operation[..., Any] | None:
    """Return the operation that a text names; None if the text names no operation.

    `simulate_refund`, `simulate-refund`, `simulateRefund` and `transactions refund` name the same operation. `refund`
    names it too, because only one operation name ends in `refund`.
    """
    parts = _words(text)
    ends = [row for row in OPERATIONS.values() if parts and any(name[-len(parts) :] == parts for name in _names(row))]
    exact = [row for row in ends if parts in _names(row)]
    return (exact or ends)[0] if len(exact or ends) == 1 else None


def unknown_operation(text: str) -> Problem:
    """Return the problem for a text that names no operation."""
    return unknown_name(text, OPERATIONS, "an operation")


def _names(row: Operation[..., Any]) -> list[list[str]]:
    return [_words(row.name), _words(" ".join(command_of(row)))]


def _words(text: str) -> list[str]:
    return re.sub("(?<=[a-z])(?=[A-Z])", " ", text).lower().replace("_", " ").replace("-", " ").split()
