// The page's side of a dashboard: it shows the parts that the kernel makes (every foreign text in them is escaped there),
// and tells the kernel what is chosen. Nothing is fetched.

function render({ model, el }) {
  const root = document.createElement("div");
  root.className = "wbd";
  root.dataset.lmSuppressShortcuts = "true";
  root.innerHTML = '<p class="quiet" role="status">Reading …</p>';
  el.replaceChildren(root);
  let number = 0;

  const say = (text) => {
    const line = root.querySelector(".say");
    if (!line) return;
    line.textContent = text;
    line.hidden = !text;
  };
  const filters = () => Object.fromEntries([...root.querySelectorAll("[data-filter-name]")].map((one) => [one.dataset.filterName, one.value]));
  const show = (chosen) => {
    for (const part of root.querySelectorAll("[data-part]")) part.setAttribute("aria-busy", "true");
    model.send({ do: "show", number: ++number, filters: chosen });
  };

  function heard(message) {
    if (message.number && message.number !== number) return; // an answer to an older choice
    if (message.html !== undefined) {
      const name = document.activeElement?.dataset?.filterName;
      root.innerHTML = message.html;
      if (name) root.querySelector(`[data-filter-name="${name}"]`)?.focus();
    }
    if (message.part) {
      const place = root.querySelector(`[data-part="${message.part}"]`);
      if (place) { place.innerHTML = message.text; place.removeAttribute("aria-busy"); }
    }
    if (message.say !== undefined) {
      say(message.say);
      for (const part of root.querySelectorAll("[data-part]")) part.removeAttribute("aria-busy");
    }
    if (message.file !== undefined) {
      const link = document.createElement("a"), address = URL.createObjectURL(new Blob([message.file], { type: "text/html" }));
      link.href = address;
      link.download = message.name;
      link.click();
      URL.revokeObjectURL(address);
    }
    if (message.below) setTimeout(() => root.parentElement?.parentElement?.querySelector(".wbp")?.scrollIntoView({ block: "start" }), 300);
  }

  const pressed = (event) => {
    const button = event.target.closest("button");
    if (!button) return;
    if (button.dataset.list) model.send({ do: "open", list: button.dataset.list, filter: button.dataset.filter });
    if (button.dataset.do === "export") model.send({ do: "export" });
  };
  root.addEventListener("click", pressed);
  root.addEventListener("change", (event) => { if (event.target.dataset.filterName) show(filters()); });
  root.addEventListener("submit", (event) => event.preventDefault());
  model.on("msg:custom", heard);
  show({});
  return () => model.off("msg:custom", heard);
}

export default { render };
