// "/" goes to the search of the documentation, as on GitHub and MDN.
document.addEventListener("keydown", (event) => {
  if (event.key !== "/" || event.ctrlKey || event.metaKey || event.altKey) return;
  if (event.target.closest("input, textarea, select, [contenteditable]")) return;
  const field = document.querySelector(".docs-search input");
  if (!field) return;
  event.preventDefault();
  field.focus();
  field.select();
});
