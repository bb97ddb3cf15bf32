// What the server has to say lies in the page as plain alerts; here they become toasts. Screen
// readers hear what is put into a live region that was there before, so each moves into one.
(() => {
  const PAUSE = 300; // ms until readers have found the regions
  const SHORTEST = 6000; // ms that a toast stays, and for each character
  const PER_LETTER = 60;

  const stays = (toast) => toast.matches(".alert-danger, .alert-warning");
  const close = (toast) => {
    const hadFocus = toast.contains(document.activeElement);
    toast.remove();
    if (hadFocus) document.getElementById("main")?.focus();
  };
  // Stops while the toast is pointed at or has the focus, and then begins anew.
  const leave = (toast) => {
    let timer;
    const start = () => {
      clearTimeout(timer);
      const isHeld = toast.matches(":hover") || toast.contains(document.activeElement);
      if (!isHeld) timer = setTimeout(() => close(toast), SHORTEST + PER_LETTER * toast.textContent.length);
    };
    const stop = () => clearTimeout(timer);
    toast.addEventListener("mouseenter", stop);
    toast.addEventListener("focusin", stop);
    toast.addEventListener("mouseleave", start);
    toast.addEventListener("focusout", () => setTimeout(start));
    start();
  };
  const become = (toast, box) => {
    const button = document.createElement("button");
    button.type = "button";
    button.className = "btn-close";
    button.setAttribute("aria-label", box.dataset.close);
    button.addEventListener("click", () => close(toast));
    toast.append(button);
    toast.addEventListener("keydown", (event) => { if (event.key === "Escape") close(toast); });
    box.querySelector(stays(toast) ? "[data-toasts-urgent]" : "[data-toasts-calm]").append(toast);
    if (!stays(toast)) leave(toast);
  };

  document.addEventListener("DOMContentLoaded", () => setTimeout(() => {
    for (const box of document.querySelectorAll("[data-toasts]")) {
      for (const toast of box.querySelectorAll("[data-toast]")) become(toast, box);
    }
  }, PAUSE));
})();
