"""How a status looks: one color, one mark and one word each, the same in text, HTML, charts and forms.

Colors are taken from sets that stay apart for color-blind readers; the mark and the word say the same without color.
"""

from collections.abc import Mapping
from enum import StrEnum

import attrs


@attrs.frozen
class Look:
    """How one status looks. `sgr` is its color in a terminal, `hatch` its pattern in a chart."""

    color: str
    mark: str
    sgr: int
    hatch: str = ""


class Tone(StrEnum):
    """What a status means to the person who reads it."""

    GOOD = "good"
    OPEN = "open"
    WAITING = "waiting"
    YOURS = "yours"  # somebody has to act
    BAD = "bad"
    STOPPED = "stopped"
    UNKNOWN = "unknown"


GREEN, BLUE, SKY, ORANGE, AMBER, RED, PURPLE, GRAY, SLATE, TEAL = (
    "#009e73", "#0072b2", "#56b4e9", "#e67300", "#c99700", "#d5391f", "#a05195", "#8a8f98", "#5a6270", "#2f8f9d",
)  # fmt: skip

TONES: Mapping[Tone, Look] = {
    Tone.GOOD: Look(GREEN, "✓", 32),
    Tone.OPEN: Look(BLUE, "●", 34, "//"),
    Tone.WAITING: Look(AMBER, "◔", 33, ".."),
    Tone.YOURS: Look(ORANGE, "?", 33, "xx"),
    Tone.BAD: Look(RED, "✗", 31, "\\\\"),
    Tone.STOPPED: Look(GRAY, "–", 90, "--"),
    Tone.UNKNOWN: Look(PURPLE, "‽", 35, "++"),
}

LOOKS: Mapping[str, Look] = {
    # applications
    "approved": TONES[Tone.GOOD],
    "pending": TONES[Tone.WAITING],
    "needsInformation": TONES[Tone.YOURS],
    "needsVerification": Look(SKY, "◎", 36, "oo"),
    "manualReview": Look(PURPLE, "⚑", 35, "++"),
    "denied": TONES[Tone.BAD],
    "locked": Look(SLATE, "■", 90, "||"),
    "canceled": TONES[Tone.STOPPED],
    "notStarted": Look(GRAY, "○", 90),
    "exempt": Look(TEAL, "◇", 36, "**"),
    "tosNotAccepted": Look(BLUE, "✎", 34, "//"),
    # transactions
    "authorized": TONES[Tone.OPEN],
    "declined": TONES[Tone.BAD],
    "settled": TONES[Tone.GOOD],
    "completed": TONES[Tone.GOOD],
    "reversed": Look(GRAY, "↩", 90, "--"),
    "refunded": Look(TEAL, "↩", 36, "**"),
    # disputes
    "inReview": Look(PURPLE, "⚑", 35, "++"),
    "accepted": TONES[Tone.GOOD],
    "rejected": TONES[Tone.BAD],
    # cards
    "notActivated": Look(GRAY, "○", 90),
    "active": TONES[Tone.GOOD],
    # signatures
    "ready": TONES[Tone.GOOD],
    # rewards
    "earned": Look(GREEN, "+", 32),
    "redeemed": Look(BLUE, "−", 34, "//"),
    # how a call ends
    "done": TONES[Tone.GOOD],
    "refused": TONES[Tone.BAD],
    "not_sent": Look(GRAY, "○", 90),
    "not sent": Look(GRAY, "○", 90),
    "unknown": TONES[Tone.UNKNOWN],
    "partly": TONES[Tone.YOURS],
    "planned": Look(GRAY, "○", 90),
    "sending": TONES[Tone.WAITING],
    # confidence of assumptions
    "widely seen": TONES[Tone.GOOD],
    "reported from live calls": TONES[Tone.OPEN],
    "seen in one place": TONES[Tone.WAITING],
    "unconfirmed": TONES[Tone.YOURS],
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
