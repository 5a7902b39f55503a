// Long lists, a page at a time: the number of elements stays small, and the keyboard reaches all of them.

// `list` is the element whose children change, inside of `frame`. The result's `reorder` shows other rows.
function paged(rows, size, render, label, list = element("div", {}), frame = list) {
  const place = element("span", { class: "place" });
  const buttons = [["First", () => 0], ["Previous", () => page - 1], ["Next", () => page + 1], ["Last", () => last()]]
    .map(([text, target]) => element("button", { type: "button", onclick: () => go(target()) }, text));
  const controls = element("nav", { class: "pages", "aria-label": label }, buttons.slice(0, 2), place, buttons.slice(2));
  let page = 0;
  const last = () => Math.max(0, Math.ceil(rows.length / size) - 1);
  function go(target) {
    page = Math.min(Math.max(0, target), last());
    list.replaceChildren(...[render(rows.slice(page * size, (page + 1) * size))].flat());
    controls.hidden = rows.length <= size;
    place.textContent = `${number(page * size + 1)}–${number(Math.min(rows.length, (page + 1) * size))} of ${number(rows.length)}`;
    buttons.forEach((button, index) => { button.disabled = index < 2 ? page === 0 : page === last(); });
  }
  go(0);
  const made = element("div", {}, frame, controls);
  made.reorder = (others) => { rows = others; go(0); };
  return made;
}
