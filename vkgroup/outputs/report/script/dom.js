// Elements from data. Texts only ever become text nodes, so that no name or message is read as markup.

// A browser needs minutes to lay out texts of hundreds of thousands of characters. Longer texts are cut, and a
// button shows the rest. Links and options cannot hold buttons.
const LONGEST_TEXT = 2000;
const LONGEST_CODE = 20000;
const WITHOUT_BUTTONS = ["a", "button", "label", "option", "summary"];

function cut(text, length) {
  const splitsPair = /[\uD800-\uDBFF]/.test(text[length - 1]);
  return text.slice(0, splitsPair ? length - 1 : length);
}

function shortened(text, length) {
  const start = cut(text, length);
  const more = element("button", { type: "button", class: "more" }, `… show all ${number(text.length)} characters`);
  more.addEventListener("click", () => more.replaceWith(text.slice(start.length)));
  return [start, more];
}

function limited(tag, text) {
  const length = tag === "pre" || tag === "code" ? LONGEST_CODE : LONGEST_TEXT;
  if (typeof text !== "string" || text.length <= length) return [text];
  return WITHOUT_BUTTONS.includes(tag) ? [`${cut(text, length)}…`] : shortened(text, length);
}

function element(tag, attributes = {}, ...children) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (value === false || value === null || value === undefined) continue;
    if (name.startsWith("on")) made.addEventListener(name.slice(2), value);
    else if (name === "title" || name === "aria-label") made.setAttribute(name, limited("option", String(value))[0]);
    else made.setAttribute(name, value === true ? "" : String(value));
  }
  const shown = children.flat(3).filter((child) => child !== null && child !== undefined && child !== false);
  made.append(...shown.flatMap((child) => limited(tag, child)));
  return made;
}

const byId = (id) => document.getElementById(id);
const bodyOf = (id) => byId(id).querySelector(".body");
const number = (value) => Number(value).toLocaleString("en");
const some = (count, one, many = `${one}s`) => `${number(count)} ${count === 1 ? one : many}`;

function show(id, title) {
  byId(id).hidden = false;
  byId("sections").append(element("li", {}, element("a", { href: `#${id}` }, title)));
}

// A table that a narrow screen scrolls by itself, with the keyboard too.
function scrolled(label, table) {
  return element("div", { class: "scroll", role: "region", "aria-label": label, tabindex: 0 }, table);
}

function tableOf(caption, heads, rows, attributes = {}) {
  const head = element("tr", {}, heads.map((text) => element("th", { scope: "col" }, text)));
  return element("table", attributes, element("caption", {}, caption),
    element("thead", {}, head), element("tbody", {}, rows));
}

// A list may have every case of a run: what is inside is made when it is opened.
function unfolded(open, title, inside, attributes = {}) {
  const details = element("details", { open, ...attributes }, element("summary", {}, title));
  details.fill = () => { if (details.childElementCount === 1) details.append(...[inside()].flat().filter(Boolean)); };
  details.addEventListener("toggle", () => { if (details.open) details.fill(); });
  if (open) details.fill();
  return details;
}

let labels = 0;
function labelled(text, control) {
  control.id ||= `control-${++labels}`;
  return element("span", { class: "field" }, element("label", { for: control.id }, text), control);
}

function checkbox(text, checked, changed) {
  const box = element("input", { type: "checkbox", checked, id: `control-${++labels}` });
  box.addEventListener("change", () => changed(box.checked));
  return element("span", { class: "check" }, box, element("label", { for: box.id }, text));
}

function choice(options, chosen, changed) {
  const made = element("select", {}, options.map(([value, text]) =>
    element("option", { value, selected: value === chosen }, text)));
  made.addEventListener("change", () => changed(made.value));
  return made;
}

function copied(text, label) {
  const button = element("button", { type: "button", class: "copy", "aria-label": `Copy ${label}` }, "Copy");
  button.addEventListener("click", async () => {
    try {
      await navigator.clipboard.writeText(text);
      button.textContent = "Copied";
    } catch {
      const range = document.createRange();
      range.selectNodeContents(button.parentElement.querySelector("code"));
      getSelection().removeAllRanges();
      getSelection().addRange(range);
      button.textContent = "Selected";
    }
    setTimeout(() => { button.textContent = "Copy"; }, 2000);
  });
  return button;
}

const commandOf = (text, label) =>
  element("div", { class: "command" }, element("code", { tabindex: 0 }, text), copied(text, label));
