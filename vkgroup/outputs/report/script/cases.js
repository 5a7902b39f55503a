// Every case in a table that can be searched and filtered; what is chosen is in the address.

const CASES_A_PAGE = 100;
const SHORT_NOTE = 200;
const caseFilter = { q: "", status: "", category: "", stage: "", operation: "", type: "" };
const caseControls = {};

function matching() {
  const terms = caseFilter.q.toLowerCase().split(/\s+/).filter(Boolean);
  const letters = caseFilter.status === "against" ? AGAINST : caseFilter.status;
  const found = [];
  for (const block of shown.blocks) {
    if (AXES.some((axis) => caseFilter[axis] && block[axis] !== caseFilter[axis])) continue;
    const prefix = block.prefix.toLowerCase();
    const open = terms.filter((term) => !prefix.includes(term));
    for (let index = 0; index < block.tails.length; index++) {
      if (letters && !letters.includes(block.statuses[index])) continue;
      if (open.length) {
        const name = `${prefix}.${data.tails[block.tails[index]].toLowerCase()}`;
        if (!open.every((term) => name.includes(term))) continue;
      }
      found.push([block, index]);
    }
  }
  return found;
}

function casesBuilt() {
  let waiting;
  const search = element("input", { type: "search", placeholder: "parts of a name, as in “shuffle uvec2 nested”", autocomplete: "off", spellcheck: "false" });
  search.addEventListener("input", () => {
    clearTimeout(waiting);
    waiting = setTimeout(() => { caseFilter.q = search.value; casesChanged(); }, 120);
  });
  caseControls.q = search;
  const fields = [labelled("Search", search)];
  const options = { status: [["", "any"], ["against", "against the device"], ...Object.entries(MARKS).map(([letter, { name }]) => [letter, name])] };
  for (const name of ["status", ...AXES]) {
    caseControls[name] = choice(options[name] ?? [["", "any"]], "", (value) => { caseFilter[name] = value; casesChanged(); });
    caseControls[name].dataset.name = name;
    fields.push(labelled(name[0].toUpperCase() + name.slice(1), caseControls[name]));
  }
  const clear = element("button", { type: "button", onclick: () => { setCaseFilter({}); casesChanged(); search.focus(); } }, "Clear");
  caseControls.details = unfolded(false, element("span", { id: "case-total" }), () => element("div", {},
    element("form", { class: "controls", role: "search", "aria-label": "Cases", onsubmit: (event) => event.preventDefault() }, fields, clear),
    element("p", { id: "case-count", role: "status", class: "count" }), element("div", { id: "case-list" })));
  caseControls.details.addEventListener("toggle", casesShown);
  bodyOf("cases").replaceChildren(caseControls.details);
  axesFilled();
}

function axesFilled() {
  for (const axis of AXES) {
    const values = ordered(shown.blocks.map((block) => block[axis]));
    caseControls[axis].replaceChildren(...[["", "any"], ...values.map((value) => [value, value.replaceAll("_", " ")])]
      .map(([value, text]) => element("option", { value }, text)));
    caseControls[axis].value = caseFilter[axis];
  }
}

function setCaseFilter(values) {
  for (const name of Object.keys(caseFilter)) {
    caseFilter[name] = values[name] ?? "";
    caseControls[name].value = caseFilter[name];
  }
}

function casesAddress() {
  const chosen = Object.fromEntries(Object.entries(caseFilter).filter(([, value]) => value));
  if (shown !== withCases[0]) chosen.run = shown.index;
  return `#${new URLSearchParams({ cases: "", ...chosen })}`;
}

function casesChanged() {
  leaving = casesAddress();
  history.replaceState(null, "", leaving);
  casesShown();
}

// The failures are in the causes already: the table is made when it is opened, or an address asks for it.
function casesShown() {
  const total = shown.blocks.reduce((all, block) => all + block.tails.length, 0);
  byId("case-total").textContent = `Search and sort ${some(total, "case")}`;
  if (!caseControls.details.open) return;
  caseControls.details.fill();
  const found = matching();
  byId("case-count").textContent = `${some(found.length, "case")} of ${number(total)}`;
  byId("case-list").replaceChildren(found.length
    ? sortable("Cases", caseColumns(), found, (place) => caseRow(caseAt(...place)), { size: CASES_A_PAGE, attributes: { class: "cases" } })
    : element("p", { class: "notice" }, "No case matches. Shorten the search, or clear it."));
}

const noteOf = (one) => shown.failures[one.name]?.words.split("\n")[1] ?? one.note;

function caseColumns() {
  const of = (value) => (place) => value(caseAt(...place));
  return [["verdict", of((one) => MARKS[one.status].name)], ["case", of((one) => one.name)], ["lanes judged", of((one) => one.defined)],
    ["undefined", of((one) => one.undefinedLanes)], ["note", of(noteOf)]];
}

function caseRow(one) {
  const words = noteOf(one);
  return element("tr", {}, element("td", {}, badge(one.status)),
    element("th", { scope: "row" }, element("a", { href: caseLink(one.name) }, one.name)),
    element("td", { class: "amount" }, number(one.defined)), element("td", { class: "amount" }, number(one.undefinedLanes)),
    element("td", { class: "note", title: words }, words.length > LONGEST_TEXT ? shortened(words, SHORT_NOTE) : element("span", {}, words)));
}
