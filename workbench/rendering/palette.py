"""How a status looks: one color, one mark and one word each, the same in text, HTML, charts and forms.

Colors are taken from sets that stay apart for color-blind readers; the mark and the word say the same without color.
"""

from collections.abc import Mapping

import attrs


@attrs.frozen
class Look:
    """How one status looks. `sgr` is its color in a terminal, `hatch` its pattern in a chart.

    `tone` is its color on a page: "good", "bad", "warn", "open" or "other", of `design`.
    """

    color: str
    mark: str
    sgr: int
    hatch: str = ""
    tone: str = "other"


GREEN, BLUE, SKY, ORANGE, AMBER, RED, PURPLE, GRAY, SLATE, TEAL = (
    "#009e73", "#0072b2", "#2b8fd0", "#d96c00", "#b58500", "#d5391f", "#a05195", "#8a8f98", "#687080", "#2f8f9d",
)  # fmt: skip

GOOD, BAD = Look(GREEN, "✓", 32, "", "good"), Look(RED, "✗", 31, "\\\\", "bad")
OPEN, WAITING = Look(BLUE, "●", 34, "//", "open"), Look(AMBER, "◔", 33, ".", "warn")
YOURS = Look(ORANGE, "?", 33, "xx", "warn")  # somebody has to act
REVIEW = Look(PURPLE, "⚑", 35, "++", "warn")
STOPPED, NOT_YET = Look(GRAY, "–", 90, "--", "bad"), Look(GRAY, "○", 90)

LOOKS: Mapping[str, Look] = {
    # applications
    "approved": GOOD,
    "pending": WAITING,
    "needsInformation": YOURS,
    "needsVerification": Look(SKY, "◎", 36, "o", "warn"),
    "manualReview": REVIEW,
    "denied": BAD,
    "locked": Look(SLATE, "■", 90, "||", "bad"),
    "canceled": STOPPED,
    "notStarted": NOT_YET,
    "exempt": Look(TEAL, "◇", 36, "*"),
    "tosNotAccepted": Look(BLUE, "✎", 34, "//", "warn"),
    # transactions
    "authorized": OPEN,
    "declined": BAD,
    "settled": GOOD,
    "completed": GOOD,
    "reversed": Look(GRAY, "↩", 90, "--"),
    "refunded": Look(TEAL, "↩", 36, "*", "open"),
    # disputes
    "inReview": REVIEW,
    "accepted": GOOD,
    "rejected": BAD,
    # cards
    "notActivated": NOT_YET,
    "active": GOOD,
    # signatures
    "ready": GOOD,
    # rewards
    "earned": Look(GREEN, "+", 32, "", "open"),
    "redeemed": Look(BLUE, "−", 34, "//", "open"),
    # deliveries
    "delivered": Look(GRAY, "•", 90, "", "good"),
    "failed": Look(GRAY, "•", 90, "", "bad"),
    "waiting": Look(GRAY, "•", 90, "", "warn"),
    # how a call ends
    "done": GOOD,
    "refused": BAD,
    "not_sent": NOT_YET,
    "not sent": NOT_YET,
    "unknown": Look(PURPLE, "‽", 35, "++", "bad"),
    "partly": YOURS,
    "planned": NOT_YET,
    "sending": WAITING,
    # confidence of assumptions
    "widely seen": GOOD,
    "reported from live calls": OPEN,
    "seen in one place": attrs.evolve(WAITING, tone="other"),
    "unconfirmed": YOURS,
}

OTHER = Look(GRAY, "•", 90)
"""Any other status."""


def look(status: str) -> Look:
    """Return the look of a status; a gray dot for one that is not known."""
    return LOOKS.get(status, OTHER)


def word(status: str) -> str:
    """Return a status as words: `needsInformation` becomes `needs information`, its own words stay whole."""
    if not status.isascii() or " " in status or status.isupper():
        return status
    spaced = "".join(f" {c.lower()}" if c.isupper() else c for c in status)
    return spaced.replace("_", " ").strip()


def paint(text: str, role: str) -> str:
    """Color text for a terminal by its role: "title", "label", "muted", "private", or "status:" and the status."""
    kind, _, status = role.partition(":")
    if kind == "status":
        code = str(look(status).sgr)
    else:
        code = {"title": "1", "label": "90", "muted": "90", "private": "2", "head": "1"}.get(kind, "")
    return f"\x1b[{code}m{text}\x1b[0m" if code and text.strip() else text
