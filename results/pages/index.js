// Headings sort, a field and a list filter. The page is complete without.
const table = document.getElementById("runs"), body = table.tBodies[0], rows = [...body.rows];
const find = document.getElementById("find"), only = document.getElementById("only"), shown = document.getElementById("shown");
const value = (row, n) => {
  const cell = row.cells[n];
  return cell.dataset.sort === undefined ? cell.textContent : Number(cell.dataset.sort);
};
const compare = (a, b) => typeof a === "number" && typeof b === "number" ? a - b : String(a).localeCompare(String(b), "en", { numeric: true });
function filter() {
  const words = find.value.toLowerCase().split(/\s+/).filter(Boolean);
  let n = 0;
  for (const row of rows) {
    const text = row.textContent.toLowerCase();
    row.hidden = only.value !== "" && row.dataset.verdict !== only.value || !words.every((w) => text.includes(w));
    n += row.hidden ? 0 : 1;
  }
  shown.textContent = n === rows.length ? "" : n + " of " + rows.length;
}
[...table.tHead.rows[0].cells].forEach((heading, n) => {
  const button = document.createElement("button");
  button.textContent = heading.textContent;
  heading.replaceChildren(button);
  button.addEventListener("click", () => {
    const down = heading.getAttribute("aria-sort") === "ascending";
    for (const other of heading.parentNode.cells) other.removeAttribute("aria-sort");
    heading.setAttribute("aria-sort", down ? "descending" : "ascending");
    rows.sort((a, b) => compare(value(a, n), value(b, n)) * (down ? -1 : 1));
    body.append(...rows);
  });
});
find.addEventListener("input", filter);
only.addEventListener("input", filter);
document.getElementById("tools").hidden = false;
filter();
