"""The style sheet of forms and panels, for light and dark themes, wide and narrow pages."""

from workbench.rendering.design import variables

_COLORS = (
    variables(".wb-root") + ".wb-root { max-width: 1180px; font-family: var(--wb-sans); --wb-ok: var(--wb-good); }\n"
)
_RULES = """
.wb-root { color: var(--jp-content-font-color1, inherit); overflow: visible; }
.wb-root .widget-html, .wb-root .widget-html-content { height: auto; line-height: 1.45; margin: 0; overflow: visible; }
.wb-root .widget-html-content { white-space: normal; }
.wb-root .wb-fields { display: grid; grid-template-columns: repeat(auto-fit, minmax(min(270px, 100%), 1fr)); gap: 8px 18px;
  align-items: start; overflow: visible; }
.wb-root .wb-field { overflow: visible; min-width: 0; }
.wb-root .wb-field > .widget-text, .wb-root .wb-field > .widget-textarea, .wb-root .wb-field > .widget-dropdown {
  flex-direction: column; align-items: stretch; height: auto; width: 100%; margin: 0; }
.wb-root .wb-field .widget-label { width: 100%; max-width: 100%; text-align: left; font-weight: 600; height: auto;
  line-height: 1.5; white-space: normal; overflow: visible; text-overflow: clip; }
.wb-root .wb-field .widget-text input, .wb-root .wb-field select, .wb-root .wb-field textarea { width: 100%; box-sizing: border-box; }
.wb-root .wb-field > .widget-dropdown > select, .wb-root .wb-field > .widget-text > input { flex: 0 0 auto; height: 28px; }
.wb-root .wb-heading { border-top: 1px solid var(--wb-line); margin-top: 8px; padding-top: 6px; }
.wb-root .wb-wide { grid-column: 1 / -1; }
.wb-root .wb-note { font-size: 12px; }
.wb-root .widget-hprogress { margin: 0; max-width: 100%; }
.wb-root .widget-checkbox { width: auto; max-width: 100%; height: auto; }
.wb-root .widget-checkbox .widget-label-basic { white-space: normal; line-height: 1.4; align-items: flex-start; gap: 4px; }
.wb-root .wb-help, .wb-root .wb-quiet { color: var(--wb-quiet); }
.wb-root .wb-problem { color: var(--wb-bad); font-weight: 600; }
.wb-root .wb-advice { color: var(--wb-warn); }
.wb-root .wb-ok { color: var(--wb-good); }
.wb-root .wb-note details { display: inline; color: var(--wb-quiet); }
.wb-root .wb-note summary { display: inline; cursor: pointer; text-decoration: underline dotted; }
.wb-root fieldset, .wb-root .wb-section { border: 1px solid var(--wb-line); border-radius: 6px; padding: 8px 12px 10px;
  margin: 6px 0; overflow: visible; }
.wb-root .wb-head { border-left: 4px solid var(--wb-good); padding: 2px 0 2px 10px; margin: 0 0 8px; }
.wb-production .wb-head { border-left-color: var(--wb-live); }
.wb-root .wb-where { display: inline-block; border-radius: 4px; padding: 0 8px; font-weight: 700; letter-spacing: .04em;
  border: 1px solid currentColor; }
.wb-root .wb-where-production { background: var(--wb-live); color: #ffffff; border-color: var(--wb-live); }
.wb-root .wb-where-sandbox { color: var(--wb-good); }
.wb-root.wb-root pre { white-space: pre-wrap; overflow-wrap: anywhere; margin: 4px 0; padding: 8px; font-size: 12px;
  background: color-mix(in srgb, currentColor 6%, transparent); border-radius: 4px; user-select: all; }
.wb-root button:focus-visible, .wb-root input:focus-visible, .wb-root select:focus-visible, .wb-root textarea:focus-visible,
.wb-root summary:focus-visible { outline: 3px solid #4c8dff; outline-offset: 1px; }
.wb-root .widget-button { height: auto; min-height: 30px; line-height: 1.4; padding: 4px 12px; width: auto;
  white-space: normal; }
.wb-root .wb-event { margin: 2px 0 2px 12px; }
.wb-root .wb-event summary { cursor: pointer; }
.wb-root .wb-send { font-weight: 700; }
.wb-root .wb-send.wb-live { background: var(--wb-live); color: #ffffff; }
.wb-root .wb-row-actions { flex-wrap: wrap; gap: 4px; overflow: visible; }
.wb-root .wb-grid-head, .wb-root .wb-grid-row { display: grid; gap: 0 10px; align-items: start; width: 100%;
  overflow: visible; }
.wb-root .wb-grid-head, .wb-root .wb-grid-row { font-size: 12px; }
.wb-root .wb-grid-row { border-top: 1px solid var(--wb-line); padding: 2px 0; }
.wb-root .wb-grid-head .widget-button { text-align: left; font-weight: 700; background: transparent; padding: 2px 0;
  margin: 0; box-shadow: none; border: 0; color: inherit; font-size: 12px; overflow: visible; text-overflow: clip;
  overflow-wrap: anywhere; line-height: 1.3; }
.wb-root .wb-cells { display: grid; gap: 0 10px; overflow-wrap: anywhere; font-size: 12px; }
.wb-root .wb-cells .wb-number { text-align: right; font-variant-numeric: tabular-nums; }
.wb-root .wb-user { width: 32em; max-width: 100%; }
.wb-root .wb-open { min-height: 22px; padding: 0 4px; margin: 0; font-size: 12px; }
.wb-root .wb-count, .wb-root .wb-offers > .widget-html { align-self: center; }
.wb-root .wb-now, .jp-NotebookPanel .wb-root .wb-put { display: none; }
.jp-NotebookPanel .wb-root .wb-now { display: block; }
.wb-root .wb-put-now { font-family: inherit; color: inherit; cursor: pointer; margin: 2px; }
.wb-root .lm-TabBar-content { flex-wrap: wrap; }
.wb-root .lm-TabBar .lm-TabBar-tab { flex: 0 0 auto !important; max-width: none; min-width: 0; width: auto; color: inherit; }
.wb-root .lm-TabBar .lm-TabBar-tab, .wb-root .jupyter-widget-Collapse-header, .wb-root .lm-AccordionPanel-title {
  color: var(--jp-ui-font-color1, inherit) !important; }
.wb-root .lm-TabBar-tabLabel { overflow: visible; text-overflow: clip; }
.wb-root .wb-scroll { overflow-x: auto; }
@media (max-width: 720px) { .wb-root .wb-cells, .wb-root .wb-grid-head { font-size: 11px; } }
"""
CSS = _COLORS + _RULES

STATIC = (
    variables(".wb-read")
    + """
.wb-read { color: var(--wb-ink); background: var(--wb-page); font: var(--wb-text)/1.45 var(--wb-sans); border: 1px solid var(--wb-line);
  border-radius: var(--wb-round); padding: 0 var(--wb-s4) var(--wb-s3); overflow-x: auto; }
.wb-read > div:first-child { background: var(--wb-raised); border-bottom: 1px solid var(--wb-line); margin: 0 calc(-1 * var(--wb-s4)) var(--wb-s2);
  padding: var(--wb-s2) var(--wb-s4); }
.wb-read > div:first-child strong { font-size: var(--wb-large); }
.wb-read .wb-where { border: 1px solid currentColor; border-radius: 4px; padding: 0 var(--wb-s2); font-weight: 700; color: var(--wb-good); }
.wb-read .wb-where-production { background: var(--wb-live); border-color: var(--wb-live); color: #ffffff; }
.wb-read .wb-quiet, .wb-read caption { color: var(--wb-quiet); }
.wb-read.wb-read table { border-collapse: collapse; table-layout: auto; font-size: var(--wb-text); margin: var(--wb-s3) 0 0; width: 100%; }
.wb-read caption { text-align: left; caption-side: top; padding: 0; } .wb-read caption strong { color: var(--wb-ink); }
.wb-read tr { background: none !important; border-bottom: 1px solid var(--wb-line); }
.wb-read.wb-read th, .wb-read.wb-read td { text-align: left; padding: var(--wb-s1) var(--wb-s2); white-space: nowrap; max-width: 260px; overflow: hidden; text-overflow: ellipsis; }
.wb-read.wb-read .right { text-align: right; font-variant-numeric: tabular-nums; } .wb-read .mono { font-family: var(--wb-mono); font-size: 12px; }
.wb-read .pill { border-radius: 10px; padding: 1px var(--wb-s2); background: color-mix(in srgb, currentColor 12%, transparent); font-size: 12px; }
.wb-read .good { color: var(--wb-good); } .wb-read .bad { color: var(--wb-bad); } .wb-read .warn { color: var(--wb-warn); }
.wb-read .open { color: var(--wb-open); } .wb-read .other { color: var(--wb-other); }
"""
)
"""The style of what a panel leaves in a saved notebook."""
