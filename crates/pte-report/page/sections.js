// Sections, lists and tables.

const page = el("main", {});
const contents = el("nav", { "aria-label": "Sections" });
function section(id, title) {
  const body = el("section", { id }, el("h2", {}, title));
  contents.append(el("a", { href: `#${id}` }, title));
  page.append(body);
  return body;
}
const isPresent = (value) => value !== undefined && value !== null && value !== "";
const list = (rows) => el("dl", {}, rows.filter(([, value]) => isPresent(value)).map(([key, value]) =>
  [el("dt", {}, key), el("dd", {}, value)]));

// Table that is sorted by its headings and filtered by a text. Columns: title, and `true` for a count or "real" for
// another number. A row is a list of cells; `open` returns what a click on the first cell of a row does, if anything;
// `kind` returns the class of a row.
const ROWS = 200;
function table(into, columns, rows, open, kind) {
  let sorted = -1;
  let descending = false;
  let all = false;
  const texts = rows.map((row) => row.map((cell) => shown(cell ?? "")).join("\n").toLowerCase());
  const body = el("tbody", {});
  const heads = columns.map(([title, number], column) => el("th", { scope: "col", class: number ? "number" : null,
    onclick: () => sort(column, Boolean(number)) }, el("button", { type: "button", title: `Sort by ${title}` },
      title, el("span", { class: "sort", "aria-hidden": "true" }))));
  function sort(column, isNumber) {
    descending = sorted === column ? !descending : isNumber;
    sorted = column;
    draw();
  }
  const filter = el("input", { type: "search", placeholder: "Filter", "aria-label": "Filter rows", oninput: draw });
  const count = el("span", { class: "quiet", "aria-live": "polite" });
  const more = el("button", { type: "button", onclick: () => { all = true; draw(); } }, "Show all");
  function draw() {
    const wanted = filter.value.toLowerCase();
    let order = rows.map((_, row) => row).filter((row) => texts[row].includes(wanted));
    if (sorted >= 0) {
      const number = columns[sorted][1];
      const text = (cell) => String(cell ?? "");
      const compare = number
        ? (a, b) => (a ?? -Infinity) - (b ?? -Infinity) || 0
        : (a, b) => text(a).localeCompare(text(b), "en", { numeric: true });
      order.sort((a, b) => (descending ? -1 : 1) * compare(rows[a][sorted], rows[b][sorted]) || a - b);
    }
    heads.forEach((head, column) => {
      if (column === sorted) head.setAttribute("aria-sort", descending ? "descending" : "ascending");
      else head.removeAttribute("aria-sort");
    });
    const total = counted(rows.length, "row");
    count.textContent = order.length === rows.length ? total : `${grouped(order.length)} of ${total}`;
    const kept = all ? order : order.slice(0, ROWS);
    more.hidden = kept.length === order.length;
    replace(body, kept.map((row) => el("tr", { class: kind?.(row) }, rows[row].map((cell, column) => {
      const text = cell === null || cell === undefined ? "" : columns[column][1] === true ? grouped(cell)
        : columns[column][1] ? String(Number(cell.toPrecision(6))) : cell;
      const action = column === 0 && open?.(row);
      const content = action ? el("button", { type: "button", onclick: action }, text) : text;
      return el("td", { class: columns[column][1] ? "number" : null }, content);
    }))));
  }
  draw();
  into.append(el("div", { class: "bar" }, filter, count, more),
    el("div", { class: "wide", tabindex: 0, role: "region", "aria-label": "Table" },
    el("table", {}, el("thead", {}, el("tr", {}, heads)), body)));
}
