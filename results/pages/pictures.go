package pages

import (
	"html/template"

	"github.com/isohound/isohound/checker/explain"
	"github.com/isohound/isohound/results"
)

// pictures are the drawings of an anomaly. The timeline has two forms, of which a page shows the one that fits its width. Each is in a frame that can be zoomed with the mouse,
// by touch on its buttons, and with the keyboard.
func pictures(a *results.Anomaly) template.HTML {
	p := a.Picture()
	out := ""
	for _, svg := range []string{explain.GraphSVG(p), explain.TimelineSVG(p), explain.NarrowTimelineSVG(p)} {
		if svg != "" {
			out += `<figure class="zoom" tabindex="0" aria-label="picture; plus and minus zoom, arrows move, 0 shows all">` +
				`<div class="tools"><button type="button" data-zoom="+" title="closer">+</button><button type="button" data-zoom="-" title="further away">−</button><button type="button" data-zoom="0" title="show all">all</button></div>` +
				svg + "</figure>\n"
		}
	}
	return template.HTML(out)
}

// pictureParts are the styles and the script of all pictures of a page. They load nothing from
// outside. In print every picture is shown completely.
const pictureParts = template.HTML(`<style>
figure.zoom{position:relative;margin:.8rem 0;border:1px solid var(--line,#d5dae0);border-radius:6px;overflow:hidden}
figure.zoom svg{display:block;margin:0 auto;max-width:100%;height:auto;touch-action:pan-y}
figure.zoom.near svg{cursor:grab;touch-action:none}
figure.zoom .tools{position:absolute;top:.3rem;right:.3rem;display:flex;gap:.2rem;opacity:.35}
figure.zoom:hover .tools,figure.zoom:focus-within .tools,figure.zoom:focus .tools{opacity:1}
figure.zoom button{font:14px system-ui,sans-serif;min-width:2rem;height:2rem;border:1px solid var(--line,#d5dae0);border-radius:4px;background:var(--paper,#fff);color:var(--ink,#1c2126);cursor:pointer}
@media (hover:none){figure.zoom .tools{opacity:1}}
@media screen and (max-width:700px){figure.zoom{overflow-x:auto}figure.zoom .tools{position:sticky;left:0;right:auto;justify-content:flex-end;padding:.3rem;opacity:1}figure.zoom svg{width:100%;max-width:var(--width);min-width:calc(var(--width)*.7)}figure.zoom:has(svg[data-shows=timeline]){display:none}}
@media screen and (min-width:700.1px){figure.zoom:has(svg[data-shows=narrow-timeline]){display:none}}
@media print{figure.zoom{border:0;break-inside:avoid}figure.zoom .tools,figure.zoom:has(svg[data-shows=narrow-timeline]){display:none}}
</style>
<script>
document.querySelectorAll("figure.zoom").forEach(function (f) {
  var svg = f.querySelector("svg"), all = svg.getAttribute("viewBox").split(" ").map(Number), v = all.slice(), from = null;
  function show() {
    v[0] = Math.min(Math.max(v[0], all[0]), all[0] + all[2] - v[2]);
    v[1] = Math.min(Math.max(v[1], all[1]), all[1] + all[3] - v[3]);
    svg.setAttribute("viewBox", v.join(" "));
    f.classList.toggle("near", v[2] < all[2]);
  }
  function zoom(by, x, y) {
    var w = Math.min(all[2], Math.max(all[2] / 12, v[2] / by)), k = w / v[2];
    v = [v[0] + (v[2] - w) * x, v[1] + v[3] * (1 - k) * y, w, v[3] * k];
    show();
  }
  function move(x, y) { v[0] += x * v[2]; v[1] += y * v[3]; show(); }
  function reset() { v = all.slice(); show(); }
  function at(e) {
    var r = svg.getBoundingClientRect();
    return [(e.clientX - r.left) / r.width, (e.clientY - r.top) / r.height];
  }
  function key(k) {
    var d = {ArrowLeft: [-.15, 0], ArrowRight: [.15, 0], ArrowUp: [0, -.15], ArrowDown: [0, .15]}[k];
    if (k === "+" || k === "=") zoom(1.3, .5, .5);
    else if (k === "-") zoom(1 / 1.3, .5, .5);
    else if (k === "0" || k === "Escape") reset();
    else if (d && v[2] < all[2]) move(d[0], d[1]);
    else return false;
    return true;
  }
  f.addEventListener("keydown", function (e) { if (!e.ctrlKey && !e.metaKey && !e.altKey && key(e.key)) e.preventDefault(); });
  f.querySelectorAll("button").forEach(function (b) { b.addEventListener("click", function () { key(b.dataset.zoom); }); });
  svg.addEventListener("wheel", function (e) {
    if (!e.ctrlKey && !e.metaKey && v[2] >= all[2]) return; // the page scrolls until a picture is zoomed
    var p = at(e);
    zoom(e.deltaY < 0 ? 1.15 : 1 / 1.15, p[0], p[1]);
    e.preventDefault();
  }, {passive: false});
  svg.addEventListener("dblclick", function (e) { var p = at(e); zoom(1.8, p[0], p[1]); });
  svg.addEventListener("pointerdown", function (e) {
    if (v[2] < all[2]) { from = at(e); svg.setPointerCapture(e.pointerId); }
  });
  svg.addEventListener("pointermove", function (e) {
    if (!from) return;
    var p = at(e);
    move(from[0] - p[0], from[1] - p[1]);
    from = p;
  });
  svg.addEventListener("pointerup", function () { from = null; });
  window.addEventListener("beforeprint", reset);
});
</script>
`)
