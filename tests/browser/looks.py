"""Check a screen for boxes that overlap or are cut off, actions that no key reaches, and problems that axe-core finds."""

from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Page

BOXES = """place => {
  const found = [], text = document.createRange();
  const name = one => `${one.tagName}.${one.className} ${one.textContent.slice(0, 30)}`;
  for (const root of document.querySelectorAll(place)) {
    if (!root.offsetParent) continue;
    const seen = (one, box) => {
      const hit = document.elementFromPoint(box.x + box.width / 2, box.y + box.height / 2);
      return hit && (one.contains(hit) || hit.contains(one));
    };
    const clipped = one => {
      let {left, top, right, bottom} = one.getBoundingClientRect();
      for (let up = one.parentElement; up && up !== root.parentElement; up = up.parentElement) {
        if (getComputedStyle(up).overflowX === 'visible') continue;
        const pane = up.getBoundingClientRect();
        [left, top, right, bottom] = [Math.max(left, pane.left), Math.max(top, pane.top), Math.min(right, pane.right), Math.min(bottom, pane.bottom)];
      }
      return new DOMRect(left, top, Math.max(0, right - left), Math.max(0, bottom - top));
    };
    const above = one => one.closest('.heads, .drawer > header, .wb-row-actions, .pop');  // lies above what is under it
    const boxes = [...root.querySelectorAll('button, input, select, textarea, .tile, .pill, h2, .count, .widget-label')]
      .filter(one => one.offsetParent && !one.closest('.sr')).map(one => [one, clipped(one)])
      .filter(([one, box]) => box.width && box.height && seen(one, box));  // others are scrolled out of view
    boxes.forEach(([one, box], at) => {
      text.selectNodeContents(one);
      const cut = Math.max(one.scrollWidth, text.getBoundingClientRect().width) > one.clientWidth + 1 && getComputedStyle(one).overflowX !== 'visible';
      if (cut && one.matches('button, .pill, h2, .count, .widget-label')) found.push('cut: ' + name(one));
      if (one.tabIndex < 0 && one.matches('button, input, select, textarea') && !one.disabled && !one.closest('.rows')) {
        found.push('no key reaches ' + name(one));
      }
      for (const [other, rest] of boxes.slice(at + 1)) {
        if (one.contains(other) || other.contains(one) || above(one) !== above(other)) continue;
        const wide = Math.min(box.right, rest.right) - Math.max(box.left, rest.left);
        const high = Math.min(box.bottom, rest.bottom) - Math.max(box.top, rest.top);
        if (wide > 1 && high > 1) found.push(`overlap: ${name(one)} | ${name(other)}`);
      }
    });
    for (const one of root.querySelectorAll('.rows .cell')) {
      if (one.scrollWidth > one.clientWidth + 1 && !one.title && !one.querySelector('[title]')) found.push('cut, with no title: ' + name(one));
    }
    const lefts = row => [...(row?.children || [])].map(one => Math.round(one.getBoundingClientRect().left)).join();
    const [head, row] = [root.querySelector('.heads .row'), root.querySelector('.rows .row:not([aria-expanded])')];
    if (row?.offsetParent && lefts(head) !== lefts(row)) found.push(`heads and cells are apart: ${lefts(head)} | ${lefts(row)}`);
    if (root.scrollWidth > root.clientWidth + 1) found.push(`${place} is wider than its place`);
  }
  return found;
}"""
AXE = """async ([place, rules]) => {
  const options = {resultTypes: ['violations'], ...(rules ? {runOnly: rules} : {})};
  const {violations} = await axe.run(place, options);
  return violations.filter(one => ['serious', 'critical'].includes(one.impact)).flatMap(one =>
    one.nodes.slice(0, 3).map(node => `${one.id}: ${node.html.slice(0, 200)} ${node.failureSummary.slice(0, 300)}`));
}"""


def look_at(page: Page, place: str, *, rules: list[str] | None = None) -> list[str]:
    """Return the problems that a part of the page has in its current state.

    Args:
        place: CSS selector of the part.
        rules: Names of axe-core rules (default: all; empty: none). Another width gives the same result for color rules, and
            another theme gives the same result for all other rules.
    """
    page.mouse.move(0, 0)
    if page.evaluate("typeof axe") == "undefined":
        page.evaluate(Axe().axe_script)
    wrong: list[str] = page.evaluate(BOXES, place)
    return wrong if rules == [] else wrong + page.evaluate(AXE, [place, rules])
