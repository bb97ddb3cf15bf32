// Sends a form once, however often its button is pressed: the first answer to a one-time link is the only one.
addEventListener("submit", (event) => {
  const form = event.target;
  if ("sent" in form.dataset) event.preventDefault();
  form.dataset.sent = "";
  setTimeout(() => delete form.dataset.sent, 10_000);
});
