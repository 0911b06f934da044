// Preserve the focus and a press while the kernel redraws their elements.

const usable = (one) => one?.isConnected && !one.disabled && !one.closest('[hidden], [style*="display: none"]');
const known = (one) => [one.tagName, one.className, one.ariaLabel || one.textContent.replace(/[ ▲▼]+$/, "")].join();

/** If the focused element is removed, hidden or disabled, focus the nearest similar element, or the result of `instead`. */
function keepFocus(root, instead) {
  let focused = null, within = []; // the element that had the focus, and its ancestors

  function refocus() {
    const now = document.activeElement;
    if (!focused || (now !== document.body && now !== root && usable(now))) return;
    const alike = known(focused), likes = within.filter((one) => one.isConnected).flatMap((one) => [...one.querySelectorAll(focused.tagName)]);
    const next = usable(focused) ? focused : likes.find((one) => known(one) === alike && usable(one)) || instead(focused);
    if (next === now) return;
    if (next !== root) focused = null;
    next?.focus({ preventScroll: true });
  }

  root.addEventListener("focusin", ({ target }) => {
    if (target === root) return;
    focused = target;
    within = [];
    for (let up = target.parentElement; up && up !== root.parentElement; up = up.parentElement) within.push(up);
  });
  root.addEventListener("focusout", ({ target }) => queueMicrotask(() => {
    if (focused === target && usable(target) && document.hasFocus() && !root.contains(document.activeElement)) focused = null; // a person moved the focus out of the form
  }));
  new MutationObserver(refocus).observe(root, { childList: true, subtree: true, attributes: true, attributeFilter: ["hidden", "disabled", "style"] });
}

/** Click a pressed button even if it moves from under the pointer before the release. */
function keepPresses(root) {
  root.addEventListener("pointerdown", (down) => {
    const pressed = down.target.closest("button");
    let clicked = !pressed;
    pressed?.addEventListener("click", () => { clicked = true; }, { once: true });
    addEventListener("pointerup", (up) => setTimeout(() => {
      if (!clicked && usable(pressed) && Math.hypot(up.clientX - down.clientX, up.clientY - down.clientY) < 8) pressed.click();
    }), { once: true, capture: true });
  });
}

export { keepFocus, keepPresses, usable };
