// <button data-copy="id of what to copy" data-copied="what to say then">
(() => {
  const copy = async (element) => {
    try {
      return await navigator.clipboard.writeText(element.textContent.trim());
    } catch { // plain http has no clipboard API, and a browser may forbid writing to it
      getSelection().selectAllChildren(element);
      document.execCommand("copy");
    }
  };

  document.addEventListener("click", async (event) => {
    const button = event.target.closest("[data-copy]");
    if (!button) return;
    const label = button.querySelector("[data-label]");
    const before = label.textContent;
    await copy(document.getElementById(button.dataset.copy));
    label.textContent = button.dataset.copied;
    setTimeout(() => { label.textContent = before; }, 2000);
  });
  const show = () => {
    for (const button of document.querySelectorAll("[data-copy]")) button.hidden = false;
  };
  document.addEventListener("DOMContentLoaded", show);
  document.addEventListener("htmx:load", show); // what was swapped in has buttons as well
})();
