"""What the tokens of contracts are worth, and what the service advances on them; exactly.

Assumed, since the units are not shown: a balance counts whole tokens, an exchange rate is USD a token, and an advance
rate is a percentage. See `assumptions()`.
"""

from collections.abc import Collection
from decimal import Decimal
from typing import Any

import pandas as pd

from workbench.tables.decimals import grouped, multiplied, series, total
from workbench.tables.frames import to_frame

NOTE = "Assumed: balances are whole tokens, exchange rates USD a token, advance rates percentages."
PERCENT = Decimal("0.01")
COLUMNS = ("id", "chain_id", "tokens.address", "tokens.balance", "tokens.exchange_rate", "tokens.advance_rate")


def contract_values(contracts: Any) -> pd.DataFrame:
    """Return one row per token: its balance, rates, `value` (balance × exchange rate) and `advance` (value × rate), in USD.

    Args:
        contracts: Contracts, or their frame. A token whose balance or rate is missing has no value.
    """
    tokens = to_frame(contracts, of=None if isinstance(contracts, pd.DataFrame) else "list_contracts")
    made = tokens.loc[tokens["tokens.address"].notna(), list(COLUMNS)].reset_index(drop=True)
    made["value"] = multiplied(made["tokens.balance"], made["tokens.exchange_rate"])
    share = multiplied(made["tokens.advance_rate"], PERCENT)
    made["advance"] = multiplied(made["value"], share)
    notes = [NOTE, *tokens.attrs.get("notes", ())]
    missing = int(made["value"].isna().sum())
    if missing:
        notes.append(f"{missing:,} tokens have no balance or no rate, and no value here.")
    made.attrs.update(kind="contract_values", notes=notes, revealed=[], unknown={})
    return made


def contract_totals(contracts: Any, by: str | Collection[str] = ()) -> pd.DataFrame:
    """Return value and advance in USD, in all or by columns such as "chain_id".

    Args:
        contracts: Contracts, their frame, or what `contract_values` gave.
        by: A column or several of `contract_values`.
    """
    known = isinstance(contracts, pd.DataFrame) and contracts.attrs.get("kind") == "contract_values"
    values = contracts if known else contract_values(contracts)
    keys = [by] if isinstance(by, str) else list(by)
    if keys:
        made = pd.DataFrame({name: grouped(values, keys, name) for name in ("value", "advance")}).reset_index()
    else:
        made = pd.DataFrame({name: series([total(values[name])]) for name in ("value", "advance")})
    made.attrs.update(kind="contract_totals", notes=list(values.attrs["notes"]), revealed=[], unknown={})
    return made
