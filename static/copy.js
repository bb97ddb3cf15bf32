// <button data-copy="id of what to copy" data-copied="what to say then">
// <button data-insert="id of what to insert" data-into="id of the field">
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
    button.classList.add("is-copied");
    setTimeout(() => {
      label.textContent = before;
      button.classList.remove("is-copied");
    }, 2000);
  });
  document.addEventListener("click", (event) => {
    const button = event.target.closest("[data-insert]");
    if (!button) return;
    const field = document.getElementById(button.dataset.into);
    field.value = document.getElementById(button.dataset.insert).textContent.trim();
    field.focus();
  });
  const show = () => {
    for (const button of document.querySelectorAll("[data-copy]")) button.hidden = false;
  };
  document.addEventListener("DOMContentLoaded", show);
  document.addEventListener("htmx:load", show); // what was swapped in has buttons as well
})();
