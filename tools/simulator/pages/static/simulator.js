"use strict";

// The server renders; this only asks it again when something changed, and posts what is clicked.

const notice = document.getElementById("notice");
const words = document.body.dataset;

function tell(text) {
  notice.textContent = text;
  notice.hidden = !text;
}

async function call(method, url, body) {
  const answer = await fetch(url, {
    method,
    headers: body ? { "Content-Type": "application/json" } : {},
    body: body && JSON.stringify(body),
  });
  if (answer.ok) {
    tell("");
    return true;
  }
  const { errors = {} } = await answer.json().catch(() => ({}));
  const why = Object.entries(errors).map(([field, text]) => `${field}: ${text}`);
  tell([words.refused, ...why].join(". "));
  return false;
}

const sign = (child) => child.dataset.key || child.outerHTML;

// Cards that did not change stay as they are, so that focus and selection survive.
function renew(id, fresh) {
  const present = document.getElementById(id);
  if (!present) return;
  const known = new Map([...present.children].map((child) => [sign(child), child]));
  const wanted = [...fresh.getElementById(id).children];
  const next = wanted.map((child) => known.get(sign(child)) || child);
  const same = next.length === present.children.length
    && next.every((child, index) => child === present.children[index]);
  if (same) return;
  const focused = document.activeElement.dataset.url;
  present.replaceChildren(...next);
  if (focused) document.querySelector(`button[data-url="${focused}"]`)?.focus();
}

let renewing = false;

async function reload() {
  if (renewing) return;
  renewing = true;
  try {
    const answer = await fetch(location.href);
    if (notice.textContent === words.offline) tell("");
    const fresh = new DOMParser().parseFromString(await answer.text(), "text/html");
    for (const id of ["phones", "exchanges", "faults"]) renew(id, fresh);
  } catch {
    tell(words.offline);
  } finally {
    renewing = false;
  }
}

async function copy(button) {
  const code = button.parentElement.querySelector(".code");
  getSelection().selectAllChildren(code);
  try {
    await navigator.clipboard.writeText(code.textContent);
  } catch {
    document.execCommand("copy");
  }
  const label = button.textContent;
  button.textContent = words.copied;
  setTimeout(() => { button.textContent = label; }, 1200);
}

async function act(button) {
  const { method = "POST", url, action } = button.dataset;
  button.disabled = true;
  try {
    if (await call(method, url, action && { action })) await reload();
  } catch {
    tell(words.offline);
  } finally {
    button.disabled = false;
  }
}

document.addEventListener("click", (event) => {
  const button = event.target.closest("button[data-url], button[data-copy]");
  if (!button) return;
  if (button.dataset.url) act(button);
  else copy(button);
});

document.getElementById("fault")?.addEventListener("submit", async (event) => {
  event.preventDefault();
  const form = event.target;
  const fault = {};
  for (const [name, value] of new FormData(form)) {
    if (value) fault[name] = form.elements[name].type === "number" ? Number(value) : value;
  }
  try {
    if (await call("POST", "/faults", fault)) {
      form.reset();
      await reload();
    }
  } catch {
    tell(words.offline);
  }
});

// Only what changed is drawn again, so asking every second disturbs nobody.
setInterval(() => { if (!document.hidden) reload(); }, 1000);

document.documentElement.classList.add("js");
