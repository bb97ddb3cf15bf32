// Shortcuts of single keys (WCAG 2.1.4): never while one types, never with a modifier, and a page
// without [data-shortcuts] has none, as for those who switched them off.
(() => {
  const PAUSE = 1500; // ms between the keys of a sequence
  let begun = "";
  let timer;

  // The letter that the key has on a Latin keyboard: «п» is "g" where people write Russian.
  const letter = (event) => {
    if (event.code === "Slash" && /[.,]/.test(event.key)) return event.shiftKey ? "?" : "/";
    if (event.key.length === 1 && event.key > "\u007f" && event.code.startsWith("Key")) {
      return event.code.slice(3).toLowerCase();
    }
    return event.key.length === 1 ? event.key.toLowerCase() : "";
  };
  const isTyping = (target) => target.closest(
    "input, textarea, select, dialog, [contenteditable], [role=dialog]");
  const search = () => {
    const box = [...document.querySelectorAll("[data-search-form] input")].find((one) => one.checkVisibility());
    if (box) {
      box.focus();
      box.select();
    }
    else document.querySelector("[data-search-page]")?.click();
  };
  const show = () => {
    const list = document.querySelector("[data-shortcuts]");
    if (!list.open) list.showModal();
  };

  document.addEventListener("keydown", (event) => {
    const list = document.querySelector("[data-shortcuts]");
    if (!list || list.dataset.off || event.ctrlKey || event.altKey || event.metaKey) return;
    if (event.repeat || event.defaultPrevented || isTyping(event.target)) return;
    if (document.querySelector("dialog[open], .offcanvas.showing, .offcanvas.show")) return;
    const key = letter(event);
    clearTimeout(timer);
    const keys = `${begun} ${key}`.trim();
    begun = "";
    if (!key) return;
    const found = document.querySelector(`[data-keys="${CSS.escape(keys)}"]`)
      || document.querySelector(`[data-keys="${CSS.escape(key)}"]`);
    if (key === "/") search();
    else if (key === "?") show();
    else if (found) location.assign(found.dataset.url);
    else if (document.querySelector(`[data-keys^="${CSS.escape(key)} "]`)) {
      begun = key;
      timer = setTimeout(() => { begun = ""; }, PAUSE);
      return;
    } else return;
    event.preventDefault();
  });
  document.addEventListener("click", (event) => {
    if (event.target.closest("[data-shortcuts-open]")) show();
  });
})();
