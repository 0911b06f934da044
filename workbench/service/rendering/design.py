"""Design tokens: the look of each status, and page colors, sizes and spacing in light and dark themes.

A status has the same color, mark and word in text, HTML, charts and forms. Color-blind readers can distinguish the
colors. Without color, mark and word show the meaning.
"""

from collections.abc import Mapping

import attrs

from workbench.base.frozen import frozen


@frozen
class Look:
    """Look of a status: its color and mark, its terminal color code `sgr`, and its chart pattern `hatch`.

    `tone` names its page color: "good", "bad", "warn", "open" or "other".
    """

    color: str
    mark: str = ""
    sgr: int = 0
    hatch: str = ""
    tone: str = "other"


GREEN, BLUE, SKY, ORANGE, AMBER, RED, PURPLE, GRAY, SLATE, TEAL = (
    "#009e73",
    "#0072b2",
    "#2b8fd0",
    "#d96c00",
    "#b58500",
    "#d5391f",
    "#a05195",
    "#8a8f98",
    "#687080",
    "#2f8f9d",
)

GOOD, BAD = Look(GREEN, "✓", 32, "", "good"), Look(RED, "✗", 31, "\\\\", "bad")
OPEN, WAITING = Look(BLUE, "●", 34, "//", "open"), Look(AMBER, "◔", 33, ".", "warn")
YOURS = Look(ORANGE, "?", 33, "xx", "warn")  # the status requires an action
REVIEW = Look(PURPLE, "⚑", 35, "++", "warn")
STOPPED, NOT_YET = Look(GRAY, "–", 90, "--"), Look(GRAY, "○", 90)

LOOKS: Mapping[str, Look] = {
    # applications
    "approved": GOOD,
    "pending": WAITING,
    "needsInformation": YOURS,
    "needsVerification": Look(SKY, "◎", 36, "o", "warn"),
    "manualReview": REVIEW,
    "denied": BAD,
    "locked": Look(SLATE, "■", 90, "||", "warn"),
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
    # outcomes of calls
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
"""Look of unknown statuses."""


def look(status: str) -> Look:
    """Return the look of a status. An unknown status has a gray dot."""
    return LOOKS.get(status, OTHER)


def word(status: str) -> str:
    """Return a status as readable text: `needsInformation` becomes `needs information`; other text is unchanged."""
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


LIGHT: Mapping[str, str] = {
    "page": "#ffffff",
    "raised": "#f6f7f9",
    "hover": "#eef1f5",
    "chosen": "#e3edfb",
    "line": "#d3d7dd",
    "edge": "#80868f",
    "ink": "#1b1f24",
    "quiet": "#5a5f66",
    "link": "#0b57b8",
    "accent": "#0b62c4",
    "on-accent": "#ffffff",
    "good": "#00664a",
    "bad": "#a3180b",
    "warn": "#7a4a00",
    "open": "#0b57b8",
    "other": "#5a5f66",
    "live": "#a3180b",
    "on-live": "#ffffff",
}
DARK: Mapping[str, str] = {
    "page": "#111111",
    "raised": "#1b1d20",
    "hover": "#25282d",
    "chosen": "#1d3350",
    "line": "#3a3f46",
    "edge": "#80868f",
    "ink": "#e8eaed",
    "quiet": "#b3b8bf",
    "link": "#8ab8ff",
    "accent": "#8ab8ff",
    "on-accent": "#0d1726",
    "good": "#7fe0bd",
    "bad": "#ffb3a8",
    "warn": "#ffd07a",
    "open": "#8ab8ff",
    "other": "#b3b8bf",
    "live": "#c22a1c",
    "on-live": "#ffffff",
}
"""Colors of the dark theme.

In both themes, the contrast with every background is at least 4.5:1 for text and 3:1 for marks. `live` is the
background of white text.
"""

SCALE: Mapping[str, str] = {
    "small": "11px", "dense": "12px", "text": "13px", "large": "15px", "title": "18px", "figure": "20px",
    "s1": "4px", "s2": "8px", "s3": "12px", "s4": "16px", "s6": "24px", "row": "32px",
    "corner": "4px", "round": "6px", "pill": "10px",
    "mono": "ui-monospace, SFMono-Regular, Menlo, Consolas, monospace",
    "sans": "var(--jp-ui-font-family, system-ui, sans-serif)",
}  # fmt: skip
"""Font sizes, spacing on a 4-pixel grid, row height and fonts."""


def variables(root: str, *, by_system: bool = False) -> str:
    """Return the tokens as CSS variables for a selector, in the theme of the page.

    Args:
        by_system: Use the theme of the reader's system, for a standalone page.
    """

    def block(tokens: Mapping[str, str]) -> str:
        return "".join(f"--wb-{name}:{value};" for name, value in tokens.items())

    if by_system:
        return (
            f"{root} {{ {block(SCALE)}{block(LIGHT)} }}\n@media (prefers-color-scheme: dark) {{ "
            f'html:not([data-theme="light"]) {root} {{ {block(DARK)} }} }}\n'
            f'html[data-theme="dark"] {root} {{ {block(DARK)} }}\n'
        )
    dark = f'[data-jp-theme-light="false"] {root}, .theme-dark {root}'
    return f"{root} {{ {block(SCALE)}{block(LIGHT)} }}\n{dark} {{ {block(DARK)} }}\n"
