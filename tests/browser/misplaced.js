// The texts and fields of a page that lie on others, are cut off without a sign, or reach outside the window, and words
// of a table's headings that are broken. Where there is room, no table may have to be scrolled either; only what people
// write may be as wide as they like.
() => {
  const SLACK = 2; // pixels: letters lean out of their boxes, and lines of text touch each other
  const FIELDS = "input:not([type=hidden]), select, textarea";
  const ROOM = 1000; // pixels of a window
  const WRITTEN = "pre, .wide";
  const width = document.documentElement.clientWidth;
  const shown = (element) => element.checkVisibility({ opacityProperty: true, visibilityProperty: true });

  // How an element looks, and where it is; asked once.
  const known = new Map();
  const look = (element) => {
    if (!known.has(element)) {
      const { overflowX, overflowY, textOverflow, display, borderRightWidth } = getComputedStyle(element);
      const clips = overflowX !== "visible" || overflowY !== "visible";
      const isFrame = display !== "inline" && parseFloat(borderRightWidth) > 0;
      const scrolls = overflowX !== "hidden" && (width < ROOM || element.matches(WRITTEN));
      const edge = clips || isFrame ? element.getBoundingClientRect() : null;
      known.set(element, { clips, isFrame, scrolls, overflowY, textOverflow, edge });
    }
    return known.get(element);
  };

  // What is left of a box inside the elements around it that hide, or scroll, what is outside of them; and whether that
  // is cut off, or sticks out of a frame.
  const clipped = (box, element) => {
    const part = { left: box.left, right: box.right, top: box.top, bottom: box.bottom, cut: false, out: false };
    for (let around = element; around && around !== document.body; around = around.parentElement) {
      const { clips, isFrame, scrolls, overflowY, textOverflow, edge } = look(around);
      if (clips) {
        const beside = part.right > edge.right + SLACK || part.left < edge.left - SLACK;
        const below = part.top < edge.bottom - SLACK && part.bottom > edge.bottom + SLACK;
        part.cut ||= (beside && !scrolls && textOverflow !== "ellipsis") || (below && overflowY === "hidden");
        part.left = Math.max(part.left, edge.left);
        part.right = Math.min(part.right, edge.right);
        part.top = Math.max(part.top, edge.top);
        part.bottom = Math.min(part.bottom, edge.bottom);
      }
      part.out ||= isFrame && part.right > edge.right + SLACK;
    }
    return part;
  };

  const boxes = [];
  const add = (box, element, words) => {
    if (!box.width || !box.height) return;
    const part = clipped(box, element);
    if (part.right - part.left <= SLACK || part.bottom - part.top <= SLACK) return; // for readers of the page by ear
    boxes.push({ ...part, element, words });
  };

  const texts = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  for (let text = texts.nextNode(); text; text = texts.nextNode()) {
    const words = text.data.trim().replace(/\s+/g, " ").slice(0, 40);
    if (!words || !shown(text.parentElement)) continue;
    const range = document.createRange();
    range.selectNodeContents(text);
    for (const box of range.getClientRects()) add(box, text.parentElement, words);
  }
  const found = new Set();
  for (const head of document.querySelectorAll("th")) {
    for (const text of [...head.childNodes].filter((node) => node.nodeType === Node.TEXT_NODE)) {
      for (const word of text.data.matchAll(/\b[A-Za-z]{2,12}\b/g)) {
        const range = document.createRange();
        range.setStart(text, word.index);
        range.setEnd(text, word.index + word[0].length);
        const { left, right } = clipped(range.getBoundingClientRect(), head);
        if (right - left > SLACK && range.getClientRects().length > 1) found.add(`${word[0]} is broken`);
      }
    }
  }
  for (const field of document.querySelectorAll(FIELDS)) {
    if (shown(field)) add(field.getBoundingClientRect(), field, `[${field.name || field.id}]`);
  }

  for (const box of boxes) {
    if (box.cut) found.add(`${box.words} is cut off`);
    if (box.out) found.add(`${box.words} sticks out of its box`);
    if (box.left < -SLACK || box.right > width + SLACK) found.add(`${box.words} is outside the window`);
  }
  boxes.sort((one, other) => one.top - other.top);
  boxes.forEach((one, place) => {
    for (let next = place + 1; next < boxes.length && boxes[next].top < one.bottom - SLACK; next += 1) {
      const other = boxes[next];
      if (one.element === other.element && one.words === other.words) continue; // lines of one text
      const across = Math.min(one.right, other.right) - Math.max(one.left, other.left);
      const down = Math.min(one.bottom, other.bottom) - other.top;
      if (across > SLACK && down > SLACK) found.add(`${one.words} lies on ${other.words}`);
    }
  });
  return [...found].sort();
}
