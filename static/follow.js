// Asks a followed list for its newest page. Not while the tab is hidden, something in the list is
// focused or selected, or the answer before is still under way: a person reads there.
"use strict";

(() => {
  const FAST = 3000;
  const SLOW = 15000; // after a minute without news
  const PATIENCE = 60000;
  let lastNews = Date.now();
  let timer;

  const list = () => document.querySelector("[data-follow]");

  function isBeingRead(element) {
    const selection = document.getSelection();
    const isSelected = !selection.isCollapsed && element.contains(selection.anchorNode);
    return document.hidden || isSelected || element.contains(document.activeElement);
  }

  function tick() {
    const element = list();
    if (element && !isBeingRead(element)) {
      window.htmx.trigger(element, "follow");
    }
    schedule();
  }

  function schedule() {
    clearTimeout(timer);
    const isQuiet = Date.now() - lastNews > PATIENCE;
    timer = setTimeout(tick, isQuiet ? SLOW : FAST);
  }

  const newestRow = (root) => root.querySelector("tbody a")?.getAttribute("href");

  document.addEventListener("htmx:beforeSwap", (event) => {
    const before = list();
    if (before && event.detail.target === before) {
      before.dataset.newest = newestRow(before) || "";
    }
  });
  document.addEventListener("htmx:afterSwap", (event) => {
    const element = list();
    if (element && event.detail.target.dataset && event.detail.target.dataset.newest !== newestRow(element)) {
      lastNews = Date.now();
    }
  });
  document.addEventListener("visibilitychange", () => !document.hidden && tick());
  if (list()) {
    schedule();
  }
})();
