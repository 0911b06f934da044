"""Report of anomalies: implausible transactions and events, whether report totals include them or not."""

import numpy as np
import pandas as pd

from workbench.analysis.reports.facts import mask
from workbench.analysis.reports.view import View
from workbench.analysis.tables.rows import TEXT

_BUSY = 20  # minimum average number of events per day for which a gap is reported
_GAP = 48  # minimum hours without events that count as a gap
_COLUMNS = ("anomaly", "transaction_id", "event_id", "at", "amount_cents", "currency")


class Anomalies(View):
    """A report of implausible transactions and events."""

    def anomalies(self) -> pd.DataFrame:
        """Return implausible transactions and events, one row each.

        Returns:
            Columns anomaly ("settled twice", "posted above authorized", "refunded above posted", "amount missing",
            "duplicate id, other content", "began before the first event", "unknown kind", "no event for days"),
            transaction_id, event_id, at, amount_cents (Int64: the amount, or the excess), currency.
        """
        facts, left, _ = self._rows(self.facts, "at")
        table, _, _ = self._rows(self._folded, "authorized_at")
        odd = self.reading.odd
        if len(odd) and self.scope.at is not None:
            odd = odd[mask(odd["at"] < pd.Timestamp(self.scope.at))]
        settlements = facts[mask(facts["posting"] == "settlement")]
        above = (table["posted_cents"] - table["authorized_cents"]).fillna(0)
        beyond = (table["refunded_cents"] - table["posted_cents"]).where(mask(table["posted_cents"] > 0), 0)
        amounts = {
            "posted above authorized": above.where(above > 0),
            "refunded above posted": beyond.where(beyond > 0),
            "began before the first event": table["posted_cents"].where(mask(table["authorized_cents"].isna())),
        }
        rows = [
            settlements[mask(settlements["transaction_id"].duplicated())].assign(anomaly="settled twice"),
            facts[mask(facts["net_cents"].isna() | facts["held_cents"].isna() & (facts["posting"] == "hold"))].assign(
                anomaly="amount missing"
            ),
            *(table.assign(anomaly=name, amount_cents=cents)[mask(cents.notna())] for name, cents in amounts.items()),
        ]
        rows = [part.rename(columns={"posted_cents": "amount_cents"}) if "event_id" in part else part for part in rows]
        rows = [part.assign(at=part["authorized_at"]) if "at" not in part else part for part in rows]
        rows += [odd, _gaps(facts["at"])]
        parts = [part.reindex(columns=[*_COLUMNS]) for part in rows if len(part)]
        listed = pd.concat(parts) if parts else pd.DataFrame(columns=[*_COLUMNS])
        listed = listed.astype({"amount_cents": "Int64", "at": "datetime64[us, UTC]"})
        listed = listed.astype(dict.fromkeys(("anomaly", "transaction_id", "event_id", "currency"), TEXT))
        listed = listed.sort_values(["anomaly", "at", "transaction_id"], ignore_index=True)
        return self._marked(listed, "anomalies", left, noun="postings")


def _gaps(times: "pd.Series[pd.Timestamp]") -> pd.DataFrame:
    """Return the start of each gap of at least two days, if the history averages at least `_BUSY` events a day."""
    times = times.dropna().sort_values()
    if len(times) < 2:
        return pd.DataFrame()
    days = (times.iloc[-1] - times.iloc[0]).total_seconds() / 86_400
    hours = np.diff(times.to_numpy()).astype("timedelta64[s]").astype("int64") / 3_600
    wide = np.flatnonzero((hours >= _GAP) & (len(times) / max(days, 1) >= _BUSY))
    return pd.DataFrame({"anomaly": "no event for days", "at": times.to_numpy()[wide]})
