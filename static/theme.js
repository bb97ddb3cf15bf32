// Loaded in <head> without defer, so that the page is never painted in the wrong theme.
(() => {
  const root = document.documentElement;
  const dark = matchMedia("(prefers-color-scheme: dark)");
  const chosen = () => {
    try {
      return localStorage.getItem("theme") || "auto";
    } catch {
      return "auto"; // storage may be forbidden
    }
  };
  const apply = () => {
    const theme = chosen();
    root.dataset.bsTheme = theme === "auto" ? (dark.matches ? "dark" : "light") : theme;
    for (const button of document.querySelectorAll("[data-theme]")) {
      button.setAttribute("aria-pressed", String(button.dataset.theme === theme));
    }
  };

  root.classList.add("js");
  apply();
  dark.addEventListener("change", apply);
  document.addEventListener("DOMContentLoaded", () => {
    for (const chooser of document.querySelectorAll("[data-themes]")) chooser.hidden = false;
    apply();
  });
  document.addEventListener("click", (event) => {
    const button = event.target.closest("[data-theme]");
    if (!button) return;
    try {
      localStorage.setItem("theme", button.dataset.theme);
    } catch {
      return;
    }
    apply();
  });
})();
