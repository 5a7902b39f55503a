// Tables whose columns can be sorted, with the mouse or the keyboard.

const COLLATOR = new Intl.Collator("en", { numeric: true });
// Comparing by the rules of a language takes seconds for more texts than this.
const MOST_COLLATED = 50000;

function comparison(collated) {
  const texts = collated ? COLLATOR.compare : (a, b) => (a < b ? -1 : Number(a > b));
  return (a, b) => (typeof a === "number" && typeof b === "number" ? a - b : texts(String(a), String(b)));
}

// Rows without a value are last, and equal ones keep their order.
function sorted(rows, key, descending) {
  const compare = comparison(rows.length <= MOST_COLLATED);
  const keyed = rows.map((row) => [key(row) ?? "", row]);
  keyed.sort(([a], [b]) => (a === "") - (b === "") || (descending ? compare(b, a) : compare(a, b)));
  return keyed.map(([, row]) => row);
}

// `columns`: titles, each with the function that returns the value of a row to sort by, or null, and with a unit.
// The first click sorts, the second reverses the order, the third restores it.
function sortable(label, columns, rows, rowOf, { caption, size, attributes } = {}) {
  let order = [null, false];
  const heads = columns.map(([title, key, unit]) => element("th", { scope: "col" },
    key ? element("button", { type: "button", class: "sort", onclick: () => sort(key) }, title) : title, unit));
  const body = element("tbody", {});
  const table = element("table", attributes, element("caption", {}, caption ?? element("span", { class: "unseen" }, label)),
    element("thead", {}, element("tr", {}, heads)), body);
  const pages = paged(rows, size ?? Math.max(1, rows.length), (shownRows) => shownRows.map(rowOf), `Pages: ${label}`, body, scrolled(label, table));
  function sort(key) {
    const [last, descending] = order;
    order = last !== key ? [key, false] : descending ? [null, false] : [key, true];
    heads.forEach((head, index) => {
      if (order[0] && columns[index][1] === key) head.setAttribute("aria-sort", order[1] ? "descending" : "ascending");
      else head.removeAttribute("aria-sort");
    });
    pages.reorder(order[0] ? sorted(rows, ...order) : rows);
  }
  return pages;
}
