// Operation × type × stage: a table of verdicts, seen along two of the three, with the third chosen.

const mapState = { columns: "stage", stage: "", type: "", ran: true, lanes: true };

function counted(blocks) {
  const totals = new Map();
  for (const block of blocks) {
    const letters = (block.letters ??= tally(block));
    for (const [letter, count] of Object.entries(letters.counts)) totals.set(letter, (totals.get(letter) ?? 0) + count);
    totals.set("defined", (totals.get("defined") ?? 0) + letters.defined);
    totals.set("undefined", (totals.get("undefined") ?? 0) + letters.undefinedLanes);
  }
  return totals;
}

function tally(block) {
  const found = { counts: {}, defined: 0, undefinedLanes: 0 };
  for (let index = 0; index < block.tails.length; index++) {
    const letter = block.statuses[index];
    found.counts[letter] = (found.counts[letter] ?? 0) + 1;
    const [defined, undefinedLanes] = data.lanes[pick(block.lanes, index)];
    found.defined += defined;
    found.undefinedLanes += undefinedLanes;
  }
  return found;
}

const sum = (totals, letters) => [...letters].reduce((all, letter) => all + (totals.get(letter) ?? 0), 0);

// Stages as a pipeline has them, everything else by name, and last what has none.
function ordered(values) {
  return [...new Set(values)].sort((a, b) => (a === "–") - (b === "–") || STAGES.indexOf(a) - STAGES.indexOf(b)
    || a.localeCompare(b, "en", { numeric: true }));
}

function mapShown() {
  const body = bodyOf("map");
  const axis = mapState.columns;
  const other = axis === "stage" ? "type" : "stage";
  const blocks = shown.blocks.filter((block) => !mapState[other] || block[other] === mapState[other]);
  const ran = (list) => !mapState.ran || list.some((block) => sum(counted([block]), GIVEN));
  const columns = ordered(blocks.map((block) => block[axis]))
    .filter((value) => ran(blocks.filter((block) => block[axis] === value)));
  const rows = new Map();
  for (const block of blocks) {
    const key = `${block.category}\n${block.operation}`;
    rows.set(key, [...(rows.get(key) ?? []), block]);
  }
  const kept = [...rows].filter(([, list]) => ran(list));
  const what = mapState[other] ? `${mapState[other].replaceAll("_", " ")} only` : `all ${other}s together`;
  body.replaceChildren(mapControls(other), element("p", { class: "legend" }, legend()),
    element("p", { role: "status", class: "count" },
      `${some(kept.length, "operation")} × ${some(columns.length, axis)}, ${what}`),
    scrolled("Map of verdicts", mapTable(kept, columns, axis, other)));
}

function legend() {
  const compiled = "Compiled" in shown.totals;
  return [["pass", "✓", compiled ? "all compiled" : "all pass"], ["fail", "✗", compiled ? "failing / compiled" : "failing / run"], ["undefined", "◌", "nothing defined"],
    ["lacking", "–", "not supported"]].map(([style, mark, text]) =>
    element("span", { class: "item" }, element("span", { class: `swatch ${style}` }, mark), ` ${text}`));
}

function mapControls(other) {
  const values = ordered(shown.blocks.map((block) => block[other]));
  const set = (name) => (value) => { mapState[name] = value; mapShown(); bodyOf("map").querySelector(`[data-name="${name}"]`)?.focus(); };
  const axis = choice([["stage", "stage"], ["type", "type"]], mapState.columns, set("columns"));
  const third = choice([["", `all ${other}s`], ...values.map((value) => [value, value.replaceAll("_", " ")])],
    mapState[other], set(other));
  axis.dataset.name = "columns";
  third.dataset.name = other;
  return element("div", { class: "controls" }, labelled("Operation by", axis), labelled(other === "type" ? "Type" : "Stage", third),
    checkbox("only what the device supports", mapState.ran, set("ran")),
    checkbox("undefined lanes", mapState.lanes, set("lanes")));
}

function mapTable(rows, columns, axis, other) {
  const head = element("tr", {}, element("th", { scope: "col" }, "operation"),
    columns.map((value) => element("th", { scope: "col", class: "turned" }, element("span", {}, value.replaceAll("_", " ")))));
  const groups = new Map();
  for (const [key, blocks] of rows) {
    const [category, operation] = key.split("\n");
    groups.set(category, [...(groups.get(category) ?? []), [operation, blocks]]);
  }
  const bodies = [...groups].map(([category, members]) => element("tbody", {},
    element("tr", { class: "group" }, element("th", { scope: "rowgroup", colspan: columns.length + 1 }, category.replaceAll("_", " "))),
    members.map(([operation, blocks]) => element("tr", {}, element("th", { scope: "row" }, operation),
      columns.map((value) => mapCell(category, operation, axis, value, other, blocks.filter((block) => block[axis] === value)))))));
  return element("table", { class: "map" }, element("caption", { class: "unseen" }, "Verdicts by operation"),
    element("thead", {}, head), bodies);
}

function mapCell(category, operation, axis, value, other, blocks) {
  if (!blocks.length) return element("td", { class: "empty" });
  const totals = counted(blocks);
  const against = sum(totals, AGAINST);
  const judged = sum(totals, GIVEN);
  const letter = [..."FRCTPDU"].find((one) => totals.get(one)) ?? "N";
  const { mark, style } = MARKS[letter];
  const count = letter === "N" ? "" : against ? `${number(against)}/${number(judged)}` : number(judged);
  const undefinedLanes = totals.get("undefined") ?? 0;
  const words = `${operation}, ${axis} ${value}: ` + Object.keys(MARKS).filter((one) => totals.get(one))
    .map((one) => `${number(totals.get(one))} ${MARKS[one].name}`).join(", ")
    + (totals.get("D") ? "" : `; ${some(totals.get("defined") ?? 0, "lane")} judged, ${number(undefinedLanes)} undefined`);
  const filter = { cases: "", category, operation, [axis]: value };
  if (mapState[other]) filter[other] = mapState[other];
  if (shown !== withCases[0]) filter.run = shown.index;
  return element("td", { class: style }, element("a", { href: `#${new URLSearchParams(filter)}`, title: words, "aria-label": words },
    element("span", {}, `${mark} ${count}`.trim()),
    mapState.lanes && undefinedLanes > 0 && element("small", {}, `◌ ${short(undefinedLanes)}`)));
}

const short = (value) => (value < 10000 ? number(value) : value < 1e6 ? `${Math.round(value / 1e3)}k` : `${(value / 1e6).toPrecision(2)}M`);
