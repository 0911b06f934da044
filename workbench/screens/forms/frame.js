// The frame of a form. It hides the static HTML of the form, and preserves the focus and presses.
import { keepFocus, keepPresses } from "./focus.js";

function render({ el }) {
  let waiting = 0;
  const begin = () => {
    const root = el.closest(".wb-root");
    if (!root) { waiting = requestAnimationFrame(begin); return; }
    const hide = document.createElement("style"), hides = "hides-";
    hide.textContent = [...root.classList].filter((name) => name.startsWith(hides)).map((name) => `.${name.slice(hides.length)} { display: none; }`).join("");
    el.append(hide);
    root.tabIndex = -1;
    keepFocus(root, () => {
      const answer = root.querySelector(".wb-answer-card");
      if (answer) answer.tabIndex = -1;
      return answer || root;
    });
    keepPresses(root);
    if (root.parentElement.closest(".wb-root")?.contains(document.activeElement)) root.focus(); // the form was opened inside another one that has the focus
  };
  begin();
  return () => cancelAnimationFrame(waiting);
}

export { render };
