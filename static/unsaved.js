// Asks before what was typed into a form is lost, whatever leads away: a link, a switch, another form.
// Passwords and codes are typed anew anyway.
(() => {
  const FLEETING = "[type=search], [type=password], [autocomplete=one-time-code]";
  const UNSAVED = "main form[data-changed], main form:has(.error-summary, .invalid-feedback)";

  const isKept = (form) => form?.getAttribute("method") === "post" && !form.querySelector("[autocomplete=current-password]");
  const touch = (form) => {
    form.dataset.changed = "";
    delete form.dataset.left;
    for (const note of form.querySelectorAll("[data-saved]")) note.remove();
  };
  const leave = (form) => {
    if (form) form.dataset.left = "";
  };
  document.addEventListener("input", (event) => {
    const form = event.target.form ?? event.target.closest("form");
    if (isKept(form) && !event.target.matches(FLEETING)) touch(form);
  });
  document.addEventListener("submit", (event) => {
    leave(event.target);
    if (event.target.hasAttribute("hx-post")) delete event.target.dataset.changed;
  });
  document.addEventListener("click", (event) => leave(event.target.closest("form .actions a")?.closest("form")));
  // What could not be sent is still only here.
  for (const name of ["htmx:sendError", "htmx:responseError"]) {
    document.addEventListener(name, (event) => {
      const form = event.detail.elt.closest("form");
      if (isKept(form)) touch(form);
    });
  }
  addEventListener("beforeunload", (event) => {
    const unsaved = [...document.querySelectorAll(UNSAVED)].filter((form) => isKept(form) && !("left" in form.dataset));
    if (unsaved.length) event.preventDefault();
  });
})();
