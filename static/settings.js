// Settings: finds countries, fills in groups of them. All of it is an addition: the forms work without.
(() => {
  const count = (form) => {
    for (const region of form.querySelectorAll("[data-region]")) {
      const boxes = [...region.querySelectorAll("input[type=checkbox]")];
      const chosen = boxes.filter((box) => box.checked).length;
      region.querySelector("[data-count]").textContent = `${chosen} / ${boxes.length}`;
    }
    const items = [...form.querySelectorAll("[data-name]")];
    const names = items.filter((item) => item.querySelector(":checked"));
    const line = form.querySelector("[data-chosen-countries]");
    line.hidden = names.length === 0;
    line.querySelector("[data-names]").textContent = names.map((item) => item.dataset.name).join(", ");
  };

  const find = (field) => {
    const form = field.closest("form"), wanted = field.value.trim().toLowerCase();
    let found = 0;
    for (const region of form.querySelectorAll("[data-region]")) {
      let here = 0;
      for (const item of region.querySelectorAll("[data-search]")) {
        item.hidden = !item.dataset.search.includes(wanted);
        here += item.hidden ? 0 : 1;
      }
      region.hidden = here === 0;
      region.open = wanted ? here > 0 : region.querySelector("input:checked") !== null;
      found += here;
    }
    const note = form.querySelector("[data-found]");
    note.textContent = found ? "" : note.dataset.none;
  };

  const fill = (button) => {
    const form = button.closest("form"), codes = button.dataset.codes.split(" ").filter(Boolean);
    for (const box of form.querySelectorAll("[name=allowed_countries]")) {
      if (!codes.length) box.checked = false;
      else if (codes.includes(box.value)) {
        box.checked = true;
        box.closest("details").open = true;
      }
    }
    count(form);
    form.dispatchEvent(new Event("input", { bubbles: true })); // unsaved.js asks before this is lost
  };

  document.addEventListener("click", (event) => {
    const button = event.target.closest("button[data-codes]");
    if (!button) return;
    event.preventDefault();
    event.stopPropagation(); // htmx would send the form
    fill(button);
  }, true);
  document.addEventListener("input", (event) => {
    if (event.target.id === "country-search") find(event.target);
    if (event.target.name === "allowed_countries") count(event.target.form);
  });
  document.addEventListener("keydown", (event) => {
    if (event.target.id === "country-search" && event.key === "Enter") event.preventDefault();
  });

  const show = () => {
    for (const search of document.querySelectorAll("[data-country-search]")) search.hidden = false;
  };
  document.addEventListener("DOMContentLoaded", show);
  document.addEventListener("htmx:load", show);
})();
