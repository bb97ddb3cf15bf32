// A test key just made goes into every snippet read in this tab; it is kept in this tab alone.
(() => {
  const NAME = "kvitok-test-key";
  const HINT = "kv_test_YOUR_KEY";

  const fill = () => {
    const key = sessionStorage.getItem(NAME);
    if (!key) return;
    for (const snippet of document.querySelectorAll(".snippet pre")) {
      const texts = document.createTreeWalker(snippet, NodeFilter.SHOW_TEXT);
      while (texts.nextNode()) {
        texts.currentNode.data = texts.currentNode.data.replaceAll(HINT, key);
      }
    }
  };
  document.addEventListener("DOMContentLoaded", () => {
    const fresh = document.querySelector("[data-fresh-key]");
    if (fresh) sessionStorage.setItem(NAME, fresh.dataset.freshKey);
    fill();
  });
  document.addEventListener("htmx:load", fill);
  document.addEventListener("submit", (event) => {
    if (event.target.action?.endsWith("/logout/")) sessionStorage.removeItem(NAME);
  });
})();
