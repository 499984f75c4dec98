// Looks at a page and returns what was seen, as JSON. See Seen in browser.go.
(() => {
  for (const d of document.querySelectorAll("details")) d.open = true;
  const visible = (e) => e.checkVisibility({ visibilityProperty: true, opacityProperty: true, contentVisibilityAuto: true }) && e.getClientRects().length > 0;
  const colour = (text) => {
    const n = text.match(/[\d.]+/g).map(Number);
    return { r: n[0], g: n[1], b: n[2], a: n.length > 3 ? n[3] : 1 };
  };
  const part = (c) => { c /= 255; return c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4; };
  const luminance = (c) => 0.2126 * part(c.r) + 0.7152 * part(c.g) + 0.0722 * part(c.b);
  const contrast = (a, b) => {
    const [high, low] = [luminance(a), luminance(b)].sort((x, y) => y - x);
    return (high + 0.05) / (low + 0.05);
  };
  const over = (c, below) => ({ r: c.r * c.a + below.r * (1 - c.a), g: c.g * c.a + below.g * (1 - c.a), b: c.b * c.a + below.b * (1 - c.a), a: 1 });
  // What is painted behind an element: in pictures, a shape before it in its group.
  const behind = (e) => {
    const layers = [];
    for (; e; e = e.parentElement) {
      const shape = e.closest("svg") && e.previousElementSibling && e.parentElement.querySelector(":scope > rect");
      if (shape && getComputedStyle(shape).fill.startsWith("rgb")) layers.push(colour(getComputedStyle(shape).fill));
      const back = colour(getComputedStyle(e).backgroundColor);
      if (back.a > 0) layers.push(back);
      if (layers.length && layers[layers.length - 1].a === 1) break;
    }
    return layers.reverse().reduce((below, c) => over(c, below), { r: 255, g: 255, b: 255, a: 1 });
  };
  const faint = [], squeezed = [];
  for (const e of document.body.querySelectorAll("*")) {
    const own = [...e.childNodes].some((n) => n.nodeType === Node.TEXT_NODE && n.textContent.trim() !== "");
    if (!own || !visible(e) || e.closest("script, style")) continue;
    // A column so narrow that words break into letters.
    const frame = e.getBoundingClientRect();
    if (!(e instanceof SVGElement) && e.textContent.trim().length > 5 && frame.width < 40 && frame.height > 3 * frame.width) squeezed.push(e.textContent.trim().slice(0, 40));
    const style = getComputedStyle(e), back = behind(e);
    const ink = over(colour(e instanceof SVGElement ? style.fill : style.color), back);
    const ratio = contrast(ink, back);
    if (ratio < 4.5) faint.push(e.tagName + " " + e.textContent.trim().slice(0, 40) + " " + ratio.toFixed(2));
  }
  const pictures = [], overlaps = [], cut = [], tiny = [];
  for (const svg of document.querySelectorAll("svg")) {
    if (!visible(svg)) continue;
    const frame = svg.getBoundingClientRect();
    pictures.push([frame.width, frame.height]);
    const texts = [...svg.querySelectorAll("text")].filter((t) => t.textContent.trim() !== "" && visible(t)).map((t) => ({ text: t.textContent.trim(), box: t.getBoundingClientRect() }));
    texts.forEach(({ text, box: a }, n) => {
      if (a.left < frame.left - 1 || a.right > frame.right + 1 || a.top < frame.top - 1 || a.bottom > frame.bottom + 1) cut.push(text);
      if (a.height < 8) tiny.push(text + " " + a.height.toFixed(1));
      for (const { text: other, box: b } of texts.slice(n + 1)) {
        if (Math.min(a.right, b.right) - Math.max(a.left, b.left) > 1 && Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top) > 2) overlaps.push(text + " and " + other);
      }
    });
  }
  const sections = [...document.querySelectorAll("header, section")].map((s) => s.id || s.className);
  return JSON.stringify({ ScrollWidth: document.scrollingElement.scrollWidth, InnerWidth: innerWidth, Faint: faint, Squeezed: squeezed, Pictures: pictures, Overlaps: overlaps, Cut: cut, Tiny: tiny, Sections: sections });
})()
