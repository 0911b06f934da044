"""The design language of everything on a page: colors for light and dark, type, spacing, as tokens of a style sheet."""

from collections.abc import Mapping

LIGHT: Mapping[str, str] = {
    "page": "#ffffff", "raised": "#f6f7f9", "hover": "#eef1f5", "chosen": "#e3edfb", "line": "#d3d7dd", "edge": "#80868f",
    "ink": "#1b1f24", "quiet": "#5a5f66", "link": "#0b57b8", "accent": "#0b62c4", "on-accent": "#ffffff",
    "good": "#00664a", "bad": "#a3180b", "warn": "#7a4a00", "open": "#0b57b8", "other": "#5a5f66", "live": "#a3180b",
}  # fmt: skip
DARK: Mapping[str, str] = {
    "page": "#111111", "raised": "#1b1d20", "hover": "#25282d", "chosen": "#1d3350", "line": "#3a3f46", "edge": "#80868f",
    "ink": "#e8eaed", "quiet": "#b3b8bf", "link": "#8ab8ff", "accent": "#8ab8ff", "on-accent": "#0d1726",
    "good": "#7fe0bd", "bad": "#ffb3a8", "warn": "#ffd07a", "open": "#8ab8ff", "other": "#b3b8bf", "live": "#c22a1c",
}  # fmt: skip
"""Text has a contrast of at least 4.5 to 1 with every ground in both themes, marks 3 to 1. `live` lies under white text."""

GROUNDS = ("page", "raised", "hover", "chosen")
TEXTS = ("ink", "quiet", "link", "good", "bad", "warn", "open", "other")
MARKS = ("edge", "accent")

SCALE: Mapping[str, str] = {
    "small": "11px", "text": "13px", "large": "15px", "title": "18px", "figure": "20px",
    "s1": "4px", "s2": "8px", "s3": "12px", "s4": "16px", "s6": "24px", "row": "32px", "round": "6px",
    "mono": "ui-monospace, SFMono-Regular, Menlo, Consolas, monospace",
    "sans": "var(--jp-ui-font-family, system-ui, sans-serif)",
}  # fmt: skip
"""Sizes of type, spaces on a grid of 4 pixels, the height of a row, fonts."""


def variables(root: str, *, by_system: bool = False) -> str:
    """Return the tokens as variables of a style sheet, for everything below a selector, in the theme of the page.

    Args:
        by_system: Take the theme of the reader's system, for a page of its own.
    """

    def block(tokens: Mapping[str, str]) -> str:
        return "".join(f"--wb-{name}:{value};" for name, value in tokens.items())

    if by_system:
        return f"{root} {{ {block(SCALE)}{block(LIGHT)} }}\n@media (prefers-color-scheme: dark) {{ {root} {{ {block(DARK)} }} }}\n"
    dark = f'[data-jp-theme-light="false"] {root}, .theme-dark {root}'
    return f"{root} {{ {block(SCALE)}{block(LIGHT)} }}\n{dark} {{ {block(DARK)} }}\n"


class Drawing(str):
    """An SVG to stand in a page, in the color of the text around it; a notebook shows it as the drawing."""

    __slots__ = ()

    def _repr_html_(self) -> "Drawing":
        return self

    def standalone(self) -> str:
        """Return it as a file of its own, in the colors of the reader's theme."""
        theme = (
            f"<style>svg{{color:{LIGHT['ink']}}}@media(prefers-color-scheme:dark){{svg{{color:{DARK['ink']}}}}}</style>"
        )
        return self.replace("<svg", '<svg xmlns="http://www.w3.org/2000/svg"', 1).replace(">", ">" + theme, 1)
