// allauth's script says in an event that a passkey was refused; the page says it to the person.
document.addEventListener("allauth.error", (event) => {
  event.preventDefault();
  for (const note of document.querySelectorAll("[data-passkey-trouble]")) note.hidden = false;
});
