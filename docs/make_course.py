"""Draw the pictures of the course, notebooks/images/*.svg: `python docs/make_course.py`.

A picture consists of boxes on a grid and arrows between them, each with its name. The notebook with the picture describes it in
the alternative text.
"""

from collections.abc import Iterator, Mapping
from html import escape
from pathlib import Path

import attrs

from workbench.service.rendering.design import LIGHT

FOLDER = Path(__file__).parent.parent / "notebooks" / "images"
COLUMN, ROW, WIDE, HIGH, EDGE = 208, 108, 146, 56, 24  # all in pixels
TONES = {"": LIGHT["raised"], "ours": "#e3edfb", "good": "#dff1e8", "bad": "#f9e3df", "warn": "#fbf1de"}
Arrow = tuple[str, str, str]


@attrs.frozen
class Picture:
    """Boxes: (column, row, title, line below, tone). Arrows: from, to, label; a label that begins with `-` is dashed."""

    boxes: Mapping[str, tuple[float, float, str, str, str]]
    arrows: tuple[Arrow, ...]

    def svg(self) -> str:
        """Return the picture as SVG with a light background, so that it is readable in both themes."""
        width = max(column for column, *_ in self.boxes.values()) * COLUMN + WIDE + 2 * EDGE
        height = max(row for _, row, *_ in self.boxes.values()) * ROW + HIGH + 2 * EDGE
        return (
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:g} {height:g}" width="{width:g}" height="{height:g}" '
            f'role="img" font-family="system-ui, sans-serif" font-size="13" fill="{LIGHT["ink"]}">\n'
            f'<rect width="100%" height="100%" rx="8" fill="{LIGHT["page"]}" stroke="{LIGHT["line"]}"/>\n'
            + "\n".join((*self._arrows(), *self._boxes()))
            + "\n</svg>\n"
        )

    def _middle(self, name: str) -> tuple[float, float]:
        column, row, *_ = self.boxes[name]
        return EDGE + column * COLUMN + WIDE / 2, EDGE + row * ROW + HIGH / 2

    def _boxes(self) -> Iterator[str]:
        for name, (_, _, title, below, tone) in self.boxes.items():
            x, y = self._middle(name)
            yield (
                f'<rect x="{x - WIDE / 2:g}" y="{y - HIGH / 2:g}" width="{WIDE}" height="{HIGH}" rx="7" fill="{TONES[tone]}" '
                f'stroke="{LIGHT["edge"]}"/>'
            )
            lift = -3 if below else 5
            yield f'<text x="{x:g}" y="{y + lift:g}" text-anchor="middle" font-weight="bold">{escape(title)}</text>'
            if below:
                yield f'<text x="{x:g}" y="{y + 15:g}" text-anchor="middle" font-size="11">{escape(below)}</text>'

    def _arrows(self) -> Iterator[str]:
        both = {(start, to) for start, to, _ in self.arrows}
        for start, to, label in self.arrows:
            (x, y), (a, b) = self._middle(start), self._middle(to)
            aside = 11 if (to, start) in both else 0  # arrows in opposite directions are drawn side by side
            across, down = a - x, b - y
            if abs(across) * HIGH >= abs(down) * WIDE:  # the arrow leaves the box by its left or right side
                sign = 1 if across > 0 else -1
                x, a, y, b = x + sign * WIDE / 2, a - sign * (WIDE / 2 + 3), y - sign * aside, b - sign * aside
            else:
                sign = 1 if down > 0 else -1
                y, b, x, a = y + sign * HIGH / 2, b - sign * (HIGH / 2 + 3), x + sign * aside, a + sign * aside
            dashed = ' stroke-dasharray="5 4"' if label.startswith("-") else ""
            yield f'<path d="M{x:g} {y:g}L{a:g} {b:g}" stroke="{LIGHT["quiet"]}" stroke-width="1.4" fill="none"{dashed}/>'
            yield _tip(x, y, a, b)
            if words := label.lstrip("-"):
                yield from _label(
                    (x + a) / 2, (y + b) / 2, words, abs(across) * HIGH >= abs(down) * WIDE and not down, sign
                )


def _tip(x: float, y: float, a: float, b: float) -> str:
    length = ((a - x) ** 2 + (b - y) ** 2) ** 0.5
    i, j = (a - x) / length, (b - y) / length
    points = f"{a:.1f},{b:.1f} {a - 9 * i - 4 * j:.1f},{b - 9 * j + 4 * i:.1f} {a - 9 * i + 4 * j:.1f},{b - 9 * j - 4 * i:.1f}"
    return f'<polygon points="{points}" fill="{LIGHT["quiet"]}"/>'


def _label(x: float, y: float, words: str, level: bool, sign: int) -> Iterator[str]:
    """Yield the label of an arrow. For a level arrow, the label is above or below it, and each `/` begins a line."""
    lines = words.split("/")
    top = (y - 6 - 13 * (len(lines) - 1) if sign > 0 else y + 15) if level else y + 4 - 6.5 * (len(lines) - 1)
    for number, line in enumerate(lines):
        yield (
            f'<text x="{x:g}" y="{top + 13 * number:g}" text-anchor="middle" font-size="11" stroke="{LIGHT["page"]}" '
            f'stroke-width="4" paint-order="stroke">{escape(line)}</text>'
        )


PICTURES: Mapping[str, Picture] = {
    "who-is-who": Picture(
        {
            "cardholder": (0, 0, "Cardholder", "pays by card", ""),
            "merchant": (1, 0, "Merchant", "sells", ""),
            "acquirer": (2, 0, "Acquirer", "merchant's bank", ""),
            "network": (3, 0, "Card network", "routes, sets rules", ""),
            "issuer": (3, 1, "Issuer", "owes the money", ""),
            "provider": (2, 1, "Provider", "this service", "ours"),
            "program": (1, 1, "Program", "you, the tenant", "ours"),
        },
        (
            ("cardholder", "merchant", "card"),
            ("merchant", "acquirer", "may it/pay?"),
            ("acquirer", "network", "request"),
            ("network", "issuer", "request"),
            ("issuer", "provider", "decides/through"),
            ("provider", "program", "API and/webhooks"),
            ("program", "cardholder", "issues the card"),
        ),
    ),
    "purchase": Picture(
        {
            "buy": (0, 0, "Authorize", "120.00 USD", ""),
            "hold": (1, 0, "Hold 120.00", "not yet spent", "warn"),
            "less": (2, 0, "Hold 80.50", "not yet spent", "warn"),
            "posted": (3, 0, "Posted 80.50", "spent", "good"),
            "refund": (3, 1, "Refunded 12.00", "a credit", "good"),
            "none": (1, 1, "Declined", "no hold", "bad"),
            "free": (2, 1, "Released", "nothing is posted", ""),
        },
        (
            ("buy", "hold", "approve"),
            ("hold", "less", "reverse/in part"),
            ("less", "posted", "settle"),
            ("posted", "refund", "refund in part"),
            ("buy", "none", "decline"),
            ("less", "free", "reverse in full"),
        ),
    ),
    "webhooks": Picture(
        {
            "service": (0, 0, "Service", "something changed", "ours"),
            "endpoint": (1.25, 0, "Your endpoint", "an HTTPS address", ""),
            "check": (2.35, 0, "Verify", "signature of the bytes", "warn"),
            "inbox": (3.45, 0, "Inbox", "event stored once", "good"),
            "refuse": (2.35, 1, "Refuse", "forged: not stored", "bad"),
            "handler": (3.45, 1, "Handlers", "your code", ""),
        },
        (
            ("service", "endpoint", "POST event/+ signature"),
            ("endpoint", "service", "-200, or it/delivers again"),
            ("endpoint", "check", ""),
            ("check", "inbox", "valid"),
            ("check", "refuse", "wrong"),
            ("inbox", "handler", "once per event"),
        ),
    ),
    "dispute": Picture(
        {
            "cardholder": (0, 0, "Cardholder", "“not mine”", ""),
            "program": (1, 0, "Program", "reason and evidence", "ours"),
            "issuer": (2, 0, "Issuer", "files a chargeback", "ours"),
            "network": (3, 0, "Card network", "rules and deadlines", ""),
            "acquirer": (3, 1, "Acquirer", "debits its merchant", ""),
            "merchant": (2, 1, "Merchant", "accepts or contests", ""),
            "credit": (0, 1, "Credit", "provisional, then final", "good"),
        },
        (
            ("cardholder", "program", "objection"),
            ("program", "issuer", "dispute"),
            ("issuer", "network", "claim"),
            ("network", "acquirer", "claim"),
            ("acquirer", "merchant", "claim"),
            ("merchant", "issuer", "evidence/of its own"),
            ("program", "credit", "money back"),
        ),
    ),
    "application": Picture(
        {
            "person": (0, 0, "Applicant", "data and consent", ""),
            "program": (1, 0, "Program", "files the application", "ours"),
            "service": (2, 0, "Service", "status: pending", "ours"),
            "kyc": (3, 0, "KYC provider", "is the person real?", ""),
            "more": (2, 1, "More is needed", "documents, a new try", "warn"),
            "user": (3, 1, "User", "approved: may get a card", "good"),
        },
        (
            ("person", "program", "form"),
            ("program", "service", "one call"),
            ("service", "kyc", "check"),
            ("kyc", "user", "approved"),
            ("kyc", "more", "needs…"),
            ("more", "program", "-ask the applicant"),
        ),
    ),
    "bulk": Picture(
        {
            "table": (0, 0, "Table", "a row for each person", ""),
            "check": (1, 0, "Check", "all rows, nothing sent", "ours"),
            "run": (2, 0, "Run", "one call for each row", "ours"),
            "service": (3, 0, "Service", "an application each", ""),
            "problems": (1, 1, "Problems", "row, field and rule", "bad"),
            "file": (2, 1, "File of the run", "outcome of each row", "ours"),
        },
        (
            ("table", "check", "read"),
            ("check", "run", "all right"),
            ("check", "problems", "a row is wrong"),
            ("run", "service", "call"),
            ("run", "file", ""),
            ("file", "run", "-resume"),
        ),
    ),
    "company": Picture(
        {
            "company": (1, 0, "Company", "KYB: is it real?", ""),
            "ann": (0, 1, "Owner", "approved", "good"),
            "bob": (1, 1, "Owner", "needs information", "warn"),
            "eve": (2, 1, "Owner", "denied", "bad"),
        },
        (("ann", "company", "60 %"), ("bob", "company", "25 %"), ("eve", "company", "15 %, director")),
    ),
    "payout": Picture(
        {
            "user": (0, 0, "User or company", "owns the account", ""),
            "program": (1.2, 0, "Program", "money to pay out", "ours"),
            "account": (2.4, 0, "Payment account", "where, and to whom", "ours"),
            "bank": (3.6, 0, "Beneficiary's bank", "routing + account no.", ""),
        },
        (
            ("user", "program", "asks for/its money"),
            ("program", "account", "looks up"),
            ("account", "bank", "ACH, wire/or RTP"),
        ),
    ),
    "rewards": Picture(
        {
            "buy": (0, 0, "Purchase", "settled", ""),
            "posted": (1, 0, "Points posted", "earned", "warn"),
            "minted": (2, 0, "Points minted", "can be redeemed", "good"),
            "redeemed": (3, 0, "Points redeemed", "a reward", ""),
            "page1": (0, 1, "Page: offset 0", "items 1 to 100", "ours"),
            "page2": (1, 1, "Page: offset 99", "overlaps by one", "ours"),
            "page3": (2, 1, "Page: offset 198", "…", "ours"),
            "end": (3, 1, "Offset 10,000", "no page beyond", "bad"),
        },
        (
            ("buy", "posted", "rate by/category"),
            ("posted", "minted", "later"),
            ("minted", "redeemed", "member/chooses"),
            ("page1", "page2", "next"),
            ("page2", "page3", "next"),
            ("page3", "end", "-…"),
        ),
    ),
    "sequence": Picture(
        {
            "file": (0, 0, "Sequence", "a file, data only", ""),
            "buy": (1, 0, "Step “buy”", "authorize 25.00", "ours"),
            "undo": (2, 0, "Step “undo”", "reverse in full", "ours"),
            "verdict": (3, 0, "Verdict", "as expected, or not", "good"),
            "world": (1.5, 1, "Sandbox", "balance, events, ledger", ""),
        },
        (
            ("file", "buy", "run"),
            ("buy", "undo", "id of the/transaction"),
            ("undo", "verdict", "compare"),
            ("buy", "world", "call"),
            ("undo", "world", "call"),
        ),
    ),
    "outcomes": Picture(
        {
            "you": (0, 0, "Your machine", "the call begins", "ours"),
            "net": (1.1, 0, "Network", "request, response", ""),
            "service": (2.2, 0, "Service", "acts", ""),
            "done": (3.3, 0, "Done", "a response, 2xx", "good"),
            "not_sent": (0, 1, "Not sent", "repeat it safely", "good"),
            "unknown": (1.1, 1, "Unknown", "look before you repeat", "bad"),
            "refused": (2.2, 1, "Refused", "nothing was done", "good"),
        },
        (
            ("you", "net", "request"),
            ("net", "service", "request"),
            ("service", "done", "response"),
            ("you", "not_sent", "no connection"),
            ("net", "unknown", "time-out, reset, 5xx"),
            ("service", "refused", "4xx"),
        ),
    ),
    "collateral": Picture(
        {
            "tokens": (0, 0, "Tokens", "1,000 in a contract", ""),
            "usd": (1.1, 0, "Value", "1,000.00 USD", ""),
            "credit": (2.2, 0, "Credit", "900.00 USD", "good"),
            "cards": (3.3, 0, "Cards", "spend against it", "ours"),
        },
        (
            ("tokens", "usd", "× exchange/rate 1.00"),
            ("usd", "credit", "× advance/rate 90 %"),
            ("credit", "cards", "limit"),
        ),
    ),
    "withdrawal": Picture(
        {
            "plan": (0, 0, "Plan", "token, amount, recipient", "ours"),
            "service": (1, 0, "Service signs", "first signature", "ours"),
            "admin": (2, 0, "Admin signs", "EIP-712, own wallet", "warn"),
            "contract": (3, 0, "Contract", "checks both", ""),
            "out": (3, 1, "Recipient", "receives tokens", "good"),
            "wait": (1, 1, "Pending", "ask again later", "warn"),
        },
        (
            ("plan", "service", "request"),
            ("service", "admin", "signature"),
            ("admin", "contract", "transaction"),
            ("contract", "out", "tokens"),
            ("service", "wait", "-not ready"),
        ),
    ),
    "safeguards": Picture(
        {
            "call": (0, 0, "Your call", "in a cell", ""),
            "env": (1, 0, "Environment", "simulation? refused", "warn"),
            "armed": (2, 0, "Armed?", "operation, minutes", "warn"),
            "twice": (3, 0, "Sent before?", "same call, one day", "warn"),
            "limits": (3, 1, "Limits", "amount, recipients", "warn"),
            "service": (2, 1, "Real service", "money moves", "bad"),
            "journal": (1, 1, "Journal", "what, when, outcome", "good"),
        },
        (
            ("call", "env", ""),
            ("env", "armed", ""),
            ("armed", "twice", ""),
            ("twice", "limits", ""),
            ("limits", "service", "sent"),
            ("service", "journal", "outcome"),
        ),
    ),
}
"""Each picture by its name."""


def main() -> None:
    """Write the pictures."""
    FOLDER.mkdir(exist_ok=True)
    for name, picture in PICTURES.items():
        (FOLDER / f"{name}.svg").write_text(picture.svg(), encoding="utf-8")


if __name__ == "__main__":
    main()
