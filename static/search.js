// The search box as a combobox (ARIA Authoring Practices): the focus stays in the box, arrows choose.
(() => {
  const close = (form) => {
    const input = form.querySelector("input");
    form.querySelector("[data-search-popup]").hidden = true;
    input.setAttribute("aria-expanded", "false");
    input.removeAttribute("aria-activedescendant");
    for (const hit of options(form)) hit.setAttribute("aria-selected", "false");
  };
  const options = (form) => [...form.querySelectorAll("[role=option]")];
  const open = (form) => {
    const found = options(form).length > 0;
    form.querySelector("[data-search-popup]").hidden = !form.querySelector("[data-status]");
    form.querySelector("input").setAttribute("aria-expanded", String(found));
  };
  const choose = (form, step) => {
    const hits = options(form);
    if (!hits.length) return;
    open(form);
    const now = hits.findIndex((hit) => hit.getAttribute("aria-selected") === "true");
    const next = now < 0 && step < 0 ? hits.length - 1 : (now + step + hits.length) % hits.length;
    hits.forEach((hit, n) => hit.setAttribute("aria-selected", String(n === next)));
    form.querySelector("input").setAttribute("aria-activedescendant", hits[next].id);
    hits[next].scrollIntoView({ block: "nearest" });
  };
  const KEYS = {
    ArrowDown: (form) => choose(form, 1),
    ArrowUp: (form) => choose(form, -1),
    Enter: (form) => options(form).find((hit) => hit.getAttribute("aria-selected") === "true")?.click(),
    Escape: (form) => close(form),
  };

  const set = (form, number) => {
    const input = form.querySelector("input");
    const hits = form.querySelector("[data-search-hits]");
    hits.id = `search-hits-${number}`;
    const attributes = {
      role: "combobox", "aria-expanded": "false", "aria-autocomplete": "list", "aria-controls": hits.id,
    };
    for (const [name, value] of Object.entries(attributes)) input.setAttribute(name, value);
    input.addEventListener("keydown", (event) => {
      const act = KEYS[event.key];
      if (!act || event.isComposing) return;
      const chosen = input.hasAttribute("aria-activedescendant");
      const isOpen = !form.querySelector("[data-search-popup]").hidden;
      if (event.key === "Enter" && !chosen) return; // the form is sent, to the page of results
      if (event.key === "Escape" && !isOpen) return; // the browser empties the box
      event.preventDefault();
      act(form);
    });
    input.addEventListener("focus", () => { if (input.value.trim()) open(form); });
    form.addEventListener("focusout", (event) => {
      if (!form.contains(event.relatedTarget)) close(form);
    });
    form.addEventListener("mousedown", (event) => {
      if (event.target.closest("[data-search-popup]")) event.preventDefault(); // the focus stays
    });
    hits.addEventListener("htmx:afterSwap", () => {
      const said = hits.querySelector("[data-status]");
      form.querySelector("[data-search-status]").textContent = said ? said.dataset.status : "";
      input.removeAttribute("aria-activedescendant");
      if (document.activeElement === input) open(form);
    });
  };
  document.addEventListener("DOMContentLoaded", () => {
    document.querySelectorAll("[data-search-form]").forEach(set);
  });
})();
