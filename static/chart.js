// Days of a chart: one tab stop, then arrows, Home and End; Escape puts the tip away. A first touch
// of a day shows its figures, a second one opens its messages.
"use strict";

(() => {
  const MOVES = {
    ArrowLeft: (n) => Math.max(0, n - 1),
    ArrowRight: (n, last) => Math.min(last, n + 1),
    Home: () => 0,
    End: (_n, last) => last,
  };
  let touched = null; // a day that did not show its figures before the touch

  const dayOf = (event) => event.target.closest?.(".chart-day");
  const around = (day) => [...day.closest("[data-chart-days]").querySelectorAll(".chart-day")];

  document.addEventListener("keydown", (event) => {
    const day = dayOf(event);
    if (!day || event.ctrlKey || event.altKey || event.metaKey) return;
    if (event.key === "Escape") day.blur();
    if (!Object.hasOwn(MOVES, event.key)) return;
    event.preventDefault();
    const days = around(day);
    days[MOVES[event.key](days.indexOf(day), days.length - 1)].focus();
  });
  document.addEventListener("focusin", (event) => {
    const day = dayOf(event);
    if (day) around(day).forEach((one) => { one.tabIndex = one === day ? 0 : -1; });
  });
  document.addEventListener("pointerdown", (event) => {
    const day = event.pointerType === "touch" ? dayOf(event) : null;
    touched = day && day !== document.activeElement ? day : null;
  }, true);
  document.addEventListener("click", (event) => {
    if (touched && dayOf(event) === touched) {
      event.preventDefault();
      touched.focus(); // Safari focuses no button that is touched
    }
    touched = null;
  }, true);
})();
