// What scripts add to pages that work without them: keys, a copy of a key, and words for when htmx gets no answer.
"use strict";

(() => {
  const OFF = "single-keys-off"; // in localStorage: this browser wants no single keys
  const ROWS = ":is(.tickets, .projects) > li > a:first-child";
  const find = (selector) => document.querySelector(selector);
  const typing = (element) => element.matches("input, select, textarea, [contenteditable]") || element.closest("dialog");

  // Keys. An element says by aria-keyshortcuts which key is its own; one in the content comes before one around it.

  const press = (key) => {
    const owner = `[aria-keyshortcuts="${key}"]`;
    const element = find(`#content ${owner}`) || find(owner);
    if (!element) return false;
    if (element.matches("input")) element.select();
    else element.click();
    return true;
  };

  const step = (by) => {
    const rows = [...document.querySelectorAll(ROWS)];
    const here = rows.findIndex((row) => row.closest("li").contains(document.activeElement));
    const row = rows[here < 0 ? 0 : Math.min(Math.max(here + by, 0), rows.length - 1)];
    row?.focus();
    return Boolean(row);
  };

  const help = () => {
    find("#keys").showModal();
    return true;
  };

  const SINGLE = { j: () => step(1), k: () => step(-1), "?": help };

  document.addEventListener("keydown", (event) => {
    const { key, target } = event;
    if (key === "Enter" && (event.ctrlKey || event.metaKey) && target.form) {
      event.preventDefault();
      target.form.requestSubmit(target.form.querySelector("[type=submit]"));
      return;
    }
    if (event.ctrlKey || event.metaKey || event.altKey || event.isComposing || typing(target)) return;
    const act = Object.hasOwn(SINGLE, key) ? SINGLE[key] : /^[a-z/]$/.test(key) && (() => press(key));
    if (act && !localStorage.getItem(OFF) && act()) event.preventDefault();
  });

  find("#show-keys")?.addEventListener("click", help);
  const wanted = find("#single-keys");
  if (wanted) {
    wanted.checked = !localStorage.getItem(OFF);
    wanted.addEventListener("change", () => {
      if (wanted.checked) localStorage.removeItem(OFF);
      else localStorage.setItem(OFF, "yes");
    });
  }

  // The button of a small form that saves is there while something is changed.

  const isChanged = (field) => (field.matches("select")
    ? !field.selectedOptions[0]?.defaultSelected
    : "defaultValue" in field && field.value !== field.defaultValue);

  const mark = (form) => form?.classList.toggle("changed", [...form.elements].some(isChanged));

  document.addEventListener("input", ({ target }) => mark(target.form));
  addEventListener("pageshow", () => [...document.forms].forEach(mark)); // browsers bring back what was typed

  // The copy of a key. Browsers offer it over HTTPS, and on this machine.

  document.documentElement.classList.add("has-scripts");
  if (navigator.clipboard) document.documentElement.classList.add("can-copy");
  document.addEventListener("click", async (event) => {
    const button = event.target.closest("[data-copy]");
    if (!button) return;
    await navigator.clipboard.writeText(button.dataset.copy);
    button.textContent = "Copied";
  });

  // htmx. Each answer is a page, of which it shows the content; what is none, such as a proxy's words, is shown to nobody.

  const noAnswer = (event) => {
    const sent = event.detail.requestConfig.verb !== "get";
    const words = document.createElement("p");
    words.className = "problem unsent";
    words.setAttribute("role", "alert");
    words.textContent = sent
      ? "The site did not answer. What you typed is still here: send it again in a moment. It will not be stored twice."
      : "The site did not answer. Try again in a moment.";
    find("#messages").replaceChildren(words);
  };

  document.addEventListener("htmx:sendError", noAnswer);
  document.addEventListener("htmx:timeout", noAnswer);
  document.addEventListener("htmx:beforeSwap", (event) => {
    if (event.detail.serverResponse.includes('id="content"')) return;
    event.detail.shouldSwap = false;
    noAnswer(event);
  });

  // Whoever was at something that is gone goes on at the place that the address names, or at the beginning.
  document.addEventListener("htmx:afterSettle", (event) => {
    if (document.activeElement !== document.body) return;
    const place = document.getElementById(event.detail.pathInfo?.anchor ?? "") || find("#content");
    if (place.tabIndex < 0) place.tabIndex = -1;
    place.focus({ preventScroll: true });
  });
})();
