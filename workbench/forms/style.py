"""How forms and panels look: one style sheet of ours, for light and dark themes, wide and narrow."""

import ipywidgets

LIGHT = {
    "bad": "#a3180b",
    "warn": "#7a4a00",
    "good": "#00664a",
    "quiet": "#5a5f66",
    "line": "#c4c8ce",
    "live": "#a3180b",
}
DARK = {
    "bad": "#ffb3a8",
    "warn": "#ffd07a",
    "good": "#7fe0bd",
    "quiet": "#b3b8bf",
    "line": "#4d525a",
    "live": "#c22a1c",
}
"""Text on the page's ground keeps a contrast of 4.5 to 1 in both; a test counts it. `live` is a ground for white text."""

PAGES = {"light": "#ffffff", "dark": "#111111"}
"""The grounds of JupyterLab's two themes."""


def _colours(named: dict[str, str]) -> str:
    return "".join(f"--wb-{name}:{color};" for name, color in named.items())


_GROUNDS = f"""
.wb-room {{ {_colours(LIGHT)} max-width: 1180px; font-family: var(--jp-ui-font-family, sans-serif); }}
[data-jp-theme-light="false"] .wb-room, .theme-dark .wb-room {{ {_colours(DARK)} }}
"""
_RULES = """
.wb-room { color: var(--jp-content-font-color1, inherit); overflow: visible; }
.wb-room .widget-html, .wb-room .widget-html-content { height: auto; line-height: 1.45; margin: 0; overflow: visible; }
.wb-room .widget-html-content { white-space: normal; }
.wb-room .wb-fields { display: grid; grid-template-columns: repeat(auto-fit, minmax(min(270px, 100%), 1fr)); gap: 8px 18px;
  align-items: start; overflow: visible; }
.wb-room .wb-field { overflow: visible; min-width: 0; }
.wb-room .wb-field > .widget-text, .wb-room .wb-field > .widget-textarea, .wb-room .wb-field > .widget-dropdown {
  flex-direction: column; align-items: stretch; height: auto; width: 100%; margin: 0; }
.wb-room .wb-field .widget-label { width: 100%; max-width: 100%; text-align: left; font-weight: 600; height: auto;
  line-height: 1.5; white-space: normal; overflow: visible; text-overflow: clip; }
.wb-room .wb-field .widget-text input, .wb-room .wb-field select, .wb-room .wb-field textarea { width: 100%; box-sizing: border-box; }
.wb-room .wb-field > .widget-dropdown > select, .wb-room .wb-field > .widget-text > input { flex: 0 0 auto; height: 28px; }
.wb-room .wb-wide { grid-column: 1 / -1; }
.wb-room .wb-note { font-size: 12px; }
.wb-room .widget-checkbox { width: auto; max-width: 100%; height: auto; }
.wb-room .widget-checkbox .widget-label-basic { white-space: normal; line-height: 1.4; align-items: flex-start; gap: 4px; }
.wb-room .wb-help, .wb-room .wb-quiet { color: var(--wb-quiet); }
.wb-room .wb-problem { color: var(--wb-bad); font-weight: 600; }
.wb-room .wb-advice { color: var(--wb-warn); }
.wb-room .wb-words { color: var(--wb-good); }
.wb-room .wb-note details { display: inline; color: var(--wb-quiet); }
.wb-room .wb-note summary { display: inline; cursor: pointer; text-decoration: underline dotted; }
.wb-room fieldset, .wb-room .wb-section { border: 1px solid var(--wb-line); border-radius: 6px; padding: 8px 12px 10px;
  margin: 6px 0; overflow: visible; }
.wb-room .wb-head { border-left: 4px solid var(--wb-good); padding: 2px 0 2px 10px; margin: 0 0 8px; }
.wb-production .wb-head { border-left-color: var(--wb-live); }
.wb-room .wb-where { display: inline-block; border-radius: 4px; padding: 0 8px; font-weight: 700; letter-spacing: .04em;
  border: 1px solid currentColor; }
.wb-room .wb-where-production { background: var(--wb-live); color: #ffffff; border-color: var(--wb-live); }
.wb-room .wb-where-sandbox { color: var(--wb-good); }
.wb-room pre { white-space: pre-wrap; overflow-wrap: anywhere; margin: 4px 0; padding: 8px; font-size: 12px;
  background: color-mix(in srgb, currentColor 6%, transparent); border-radius: 4px; user-select: all; }
.wb-room button:focus-visible, .wb-room input:focus-visible, .wb-room select:focus-visible, .wb-room textarea:focus-visible,
.wb-room summary:focus-visible { outline: 3px solid #4c8dff; outline-offset: 1px; }
.wb-room .widget-button { height: auto; min-height: 30px; line-height: 1.4; padding: 4px 12px; width: auto;
  white-space: normal; }
.wb-room .wb-event { margin: 2px 0 2px 12px; }
.wb-room .wb-event summary { cursor: pointer; }
.wb-room .wb-send { font-weight: 700; }
.wb-room .wb-send.wb-live { background: var(--wb-live); color: #ffffff; }
.wb-room .wb-row-actions { flex-wrap: wrap; gap: 4px; overflow: visible; }
.wb-room .wb-grid-head, .wb-room .wb-grid-row { display: grid; gap: 0 10px; align-items: start; width: 100%;
  overflow: visible; }
.wb-room .wb-grid-head, .wb-room .wb-grid-row { font-size: 12px; }
.wb-room .wb-grid-row { border-top: 1px solid var(--wb-line); padding: 2px 0; }
.wb-room .wb-grid-head .widget-button { text-align: left; font-weight: 700; background: transparent; padding: 2px 0;
  margin: 0; box-shadow: none; border: 0; color: inherit; font-size: 12px; overflow: visible; text-overflow: clip;
  overflow-wrap: anywhere; line-height: 1.3; }
.wb-room .wb-cells { display: grid; gap: 0 10px; overflow-wrap: anywhere; font-size: 12px; }
.wb-room .wb-cells .wb-number { text-align: right; font-variant-numeric: tabular-nums; }
.wb-room .wb-user { width: 32em; max-width: 100%; }
.wb-room .wb-open { min-height: 22px; padding: 0 4px; margin: 0; font-size: 12px; }
.wb-room .wb-count, .wb-room .wb-offers > .widget-html { align-self: center; }
.wb-room .wb-now, .jp-NotebookPanel .wb-room .wb-put { display: none; }
.jp-NotebookPanel .wb-room .wb-now { display: block; }
.wb-room .wb-put-now { font-family: inherit; color: inherit; cursor: pointer; margin: 2px; }
.wb-room .lm-TabBar-content { flex-wrap: wrap; }
.wb-room .lm-TabBar .lm-TabBar-tab { flex: 0 0 auto !important; max-width: none; min-width: 0; width: auto; color: inherit; }
.wb-room .lm-TabBar .lm-TabBar-tab, .wb-room .jupyter-widget-Collapse-header, .wb-room .lm-AccordionPanel-title {
  color: var(--jp-ui-font-color1, inherit) !important; }
.wb-room .lm-TabBar-tabLabel { overflow: visible; text-overflow: clip; }
.wb-room .wb-scroll { overflow-x: auto; }
@media (max-width: 720px) { .wb-room .wb-cells, .wb-room .wb-grid-head { font-size: 11px; } }
"""
CSS = _GROUNDS + _RULES


def sheet() -> ipywidgets.HTML:
    """Return the style sheet as a widget."""
    return ipywidgets.HTML(f"<style>{CSS}</style>", layout=ipywidgets.Layout(display="block", height="0"))
