// Sends a form once, however often its button is pressed: two clicks must not make two keys, two orders or two visits.
// What htmx sends, it queues itself. A form that was not left, or that the Back button brings again, may be sent anew.
(() => {
  const forget = (form) => delete form.dataset.sent;
  addEventListener("submit", (event) => {
    const form = event.target;
    if (event.defaultPrevented || form.getAttribute("method") !== "post" || form.hasAttribute("hx-post")) return;
    if ("sent" in form.dataset) event.preventDefault();
    else setTimeout(forget, 10_000, form);
    form.dataset.sent = "";
  });
  addEventListener("pageshow", () => document.querySelectorAll("form[data-sent]").forEach(forget));
})();
