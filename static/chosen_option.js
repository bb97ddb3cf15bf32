// Keeps what a person chose in a select while its options were on their way: the server knows only
// what was chosen when it was asked for them.
"use strict";

(() => {
  const chosen = new WeakMap();

  document.addEventListener("htmx:beforeSwap", ({ detail: { target } }) => {
    if (target instanceof HTMLSelectElement) {
      chosen.set(target, target.value);
    }
  });
  document.addEventListener("htmx:afterSwap", ({ detail: { target } }) => {
    const value = chosen.get(target);
    if (value !== undefined && [...target.options].some((option) => option.value === value)) {
      target.value = value;
    }
  });
})();
