// Names what Django's admin leaves without one: the fields of a table by their columns, search boxes
// of related rows by their labels, signs with a tooltip as images; and cells for phones. Tables of
// related rows that are only read are reached by Tab, so that a keyboard can scroll them.
"use strict";

(() => {
  const textOf = (element) => (element ? element.textContent.trim().replace(/:$/, "") : "");

  function columnOf(field) {
    const cell = field.closest("td, th");
    const table = field.closest("table");
    const heads = table ? table.querySelectorAll("thead th") : [];
    return cell ? textOf(heads[cell.cellIndex]) : "";
  }

  function labelOf(field) {
    return textOf(document.querySelector(`label[for="${CSS.escape(field.id)}"]`)) || columnOf(field);
  }

  function name(element, text) {
    if (text && !element.hasAttribute("aria-label")) {
      element.setAttribute("aria-label", text);
    }
  }

  function nameFields() {
    for (const field of document.querySelectorAll("td input:not([type=hidden]), td select, td textarea")) {
      if (!field.labels || field.labels.length === 0) {
        name(field, columnOf(field));
      }
    }
    for (const field of document.querySelectorAll(".datetime input")) {
      if (!field.labels || field.labels.length === 0) {
        const row = field.closest("fieldset.flex-container, .form-row");
        name(field, textOf(row && row.querySelector("legend, label")));
      }
    }
    for (const box of document.querySelectorAll(".select2-container")) {
      const field = box.previousElementSibling;
      if (field) {
        const text = labelOf(field);
        box.querySelectorAll("[role=combobox], [role=textbox], [role=searchbox]").forEach((part) => name(part, text));
      }
    }
    const search = document.querySelector("#changelist-search [type=submit]");
    if (search) {
      name(document.getElementById("searchbar"), search.value); // Django's own label is in English
    }
    for (const sign of document.querySelectorAll(".help-tooltip[aria-label]")) {
      sign.setAttribute("role", "img");
    }
  }

  // On a phone each row of a list is a card, whose cells say what they are.
  function labelCells() {
    const list = document.getElementById("result_list");
    if (!list) {
      return;
    }
    list.classList.add("admin-cards");
    for (const cell of list.querySelectorAll("tbody td:not(.action-checkbox)")) {
      const column = columnOf(cell);
      if (column) {
        cell.dataset.label = column;
      }
    }
  }

  function reachTables() {
    for (const table of document.querySelectorAll(".inline-group .tabular fieldset.module")) {
      table.tabIndex = 0;
    }
  }

  // Search boxes are made by a script of Django's, rows of a formset by the operator.
  window.addEventListener("load", () => {
    labelCells();
    nameFields();
    reachTables();
    new MutationObserver(nameFields).observe(document.body, { childList: true, subtree: true });
  });
})();
