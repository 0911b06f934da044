// The frame of a form: it hides the static HTML of the form, and keeps the focus and presses.
import { keepFocus, keepPresses } from "./focus.js";

function render({ model, el }) {
  const hide = document.createElement("style");
  hide.textContent = `.${model.get("static")} { display: none; }`;
  el.append(hide);
  let waiting = 0;
  const begin = () => {
    const root = el.closest(".wb-root");
    if (!root) { waiting = requestAnimationFrame(begin); return; }
    root.tabIndex = -1;
    keepFocus(root, () => {
      const answer = root.querySelector(".wb-answer-card");
      if (answer) answer.tabIndex = -1;
      return answer || root;
    });
    keepPresses(root);
    if (root.parentElement.closest(".wb-root")?.contains(document.activeElement)) root.focus(); // a form that a press opened
  };
  begin();
  return () => cancelAnimationFrame(waiting);
}

export { render };
