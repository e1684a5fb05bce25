// Shows the figures of a page anew, in place, and leads the arrow keys along a chart. The page works without it.
"use strict";

(() => {
  const main = document.querySelector("#content-main[data-renew]");

  // A node stays the same one where it can, so that focus, scroll, and what somebody opened or typed stay.
  const renew = (old, fresh) => {
    if (old.isEqualNode(fresh) || old.dataset?.own !== undefined) return old;
    if (old.nodeType !== Node.ELEMENT_NODE || old.nodeName !== fresh.nodeName) return fresh;
    for (const name of old.getAttributeNames()) if (name !== "open" && !fresh.hasAttribute(name)) old.removeAttribute(name);
    for (const name of fresh.getAttributeNames()) if (name !== "tabindex") old.setAttribute(name, fresh.getAttribute(name));
    const wanted = children(old, fresh);
    const as_they_are = wanted.length === old.childNodes.length && wanted.every((node, place) => node === old.childNodes[place]);
    if (!as_they_are) old.replaceChildren(...wanted);
    return old;
  };

  // Those with a key are told by it, as rows change their places; the others by their order.
  const children = (old, fresh) => {
    const keyed = new Map();
    const others = [];
    for (const child of old.childNodes) {
      if (child.dataset?.key) keyed.set(child.dataset.key, child);
      else others.push(child);
    }
    return [...fresh.childNodes].map((child) => {
      const there = child.dataset?.key ? keyed.get(child.dataset.key) : others.shift();
      return there ? renew(there, child) : child;
    });
  };

  const read = async () => {
    const answer = await fetch(location.href);
    const page = new DOMParser().parseFromString(await answer.text(), "text/html");
    return answer.redirected ? null : page.querySelector("#content-main.counters");
  };

  const keepFresh = () => {
    const bar = main.querySelector("[data-own]");
    const button = bar.querySelector("button");
    let timer;
    let paused = false;

    const say = (text) => {
      bar.querySelector("[role=status]").textContent = text;
    };
    const wait = () => {
      clearTimeout(timer);
      if (main.dataset.renew && !paused) timer = setTimeout(look, 1000 * main.dataset.renew);
    };
    const look = async () => {
      if (document.hidden) return;
      try {
        const fresh = await read();
        if (!fresh) {
          say("This page is not shown any more. Load it again.");
          return;
        }
        const focused = document.activeElement;
        if (!paused) renew(main, fresh);
        if (focused.isConnected && document.activeElement !== focused) focused.focus({ preventScroll: true });
        say("");
      } catch {
        say("No answer. It is asked again.");
      }
      wait();
    };

    bar.hidden = false;
    button.addEventListener("click", () => {
      paused = !paused;
      button.textContent = paused ? "Go on" : "Pause";
      if (paused) clearTimeout(timer);
      else look();
    });
    document.addEventListener("visibilitychange", look);
    wait();
  };

  const STEPS = { ArrowLeft: -1, ArrowRight: 1 };
  document.addEventListener("keydown", (event) => {
    const point = event.target.closest?.(".point");
    if (!point || !(event.key in STEPS)) return;
    const points = [...point.parentNode.querySelectorAll(".point")];
    const next = points[points.indexOf(point) + STEPS[event.key]];
    if (!next) return;
    event.preventDefault();
    point.setAttribute("tabindex", "-1");
    next.setAttribute("tabindex", "0");
    next.focus();
  });

  if (main) keepFresh();
})();
