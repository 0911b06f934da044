"""Known values of arguments, which forms offer as choices."""

from collections.abc import Mapping
from typing import Any

from workbench.base.errors import WorkbenchError, visible
from workbench.screens.panel import lists as things
from workbench.screens.panel.listing import text

_PICKED: Mapping[str, tuple[str, str, str]] = {
    "card_id": ("cards", "", "card user_id status"),
    "transaction_id": ("transactions", "", "merchant_name amount_cents status authorized_at"),
    "user_id": ("users", "user", "name application_status external_id"),
    "ubo_id": ("users", "owner", "name application_status company_id"),
    "company_id": ("companies", "", "name application_status"),
    "payment_account_id": ("payment accounts", "", "nickname type user_id"),
    "dispute_id": ("disputes", "", "transaction_id status created"),
}  # the list, the kind of its rows (all if empty) and the columns to show, by argument
_MOST = 1_000  # maximum number of choices for an argument, newest first


def choices(api: object, member: str) -> dict[str, Any]:
    """Return the known values of an argument, newest first, by label: "J. M., approved (00faad0d)".

    The values come from the sandbox, the journal and the inbox. Nothing is sent to the service.
    """
    try:
        if member in ("token", "chain_id"):
            return things.tokens(api, member)
        if member not in _PICKED:
            return {}
        kind, only, names = _PICKED[member]
        data = things.KINDS[kind](api)
        columns = [column.name for column in data.columns]
        places = [columns.index(name) for name in names.split()]
        kinds = data.column("kind")
        fitting = [number for number in data.order if only in ("", kinds[number])]
        options = {}
        for number in fitting[:_MOST]:
            words = ", ".join(filter(None, (text(data, number, place) for place in places)))
            options[visible(f"{words} ({data.ids[number][:8]})", 160)] = data.ids[number]
        return options
    except WorkbenchError:  # the sandbox's process has ended; the form reports this error when it sends the request
        return {}
