// The first run against each later one.

const CHANGES_A_PAGE = 50;

function comparisonShown() {
  const { cases, capabilities, speed } = data.compared;
  const parts = [...cases.map(casesCompared), ...capabilities.filter((one) => one.changes.length).map(capabilitiesCompared),
    ...speed.map(speedCompared)];
  bodyOf("comparison").replaceChildren(...parts);
  return parts.length > 0;
}

// What became of cases, what wants a look first: title, what a tile calls it, its colour, whether it is open.
const BECAME = {
  newly_failing: ["Newly failing", "newly failing", "fail", true],
  appeared_failing: ["Appeared and failing", "appeared and failing", "fail", true],
  fixed: ["Fixed", "fixed", "pass", true],
  other: ["Otherwise changed", "otherwise changed", "undefined", false],
  appeared: ["Appeared", "appeared", "none", false],
  vanished: ["Vanished", "vanished", "none", false],
};
const NOT_THERE = " ";

function casesCompared(one) {
  const [old, new_] = [runs[one.old], runs[one.new]];
  const lists = Object.entries(BECAME).map(([name, [title, words, style, open]]) => {
    const blocks = one.lists[name];
    return { title, words, style, open, blocks, count: blocks.reduce((sum, [, tails]) => sum + tails.length, 0) };
  });
  const row = ([name, was, is]) => element("tr", {},
    element("th", { scope: "row" }, element("a", { href: caseLink(name, is === NOT_THERE ? old : new_) }, name)),
    statusCell(was), statusCell(is));
  const columns = [["case", ([name]) => name], ["was", ([, was]) => MARKS[was]?.name], ["is", ([, , is]) => MARKS[is]?.name]];
  return element("article", { class: "compared" },
    element("h3", {}, "Cases: ", element("span", { class: "old" }, runName(old)), " → ", element("span", {}, runName(new_))),
    element("ul", { class: "tiles" }, lists.map(({ words, style, count }) => element("li", { class: count ? style : "none" },
      element("strong", {}, number(count)), ` ${words}`))),
    lists.map(({ title, open, blocks, count }) => count > 0 && unfolded(open, `${title}: ${some(count, "case")}`,
      () => sortable(title, columns, changesIn(blocks), row, { size: CHANGES_A_PAGE, attributes: { class: "cases" } }))));
}

function changesIn(blocks) {
  return blocks.flatMap(([head, tails, was, is]) => tails.map((tail, index) => {
    const [prefix] = data.heads[head];
    return [data.tails[tail] ? `${prefix}.${data.tails[tail]}` : prefix, was[index], is[index]];
  }));
}

const statusCell = (letter) => element("td", {}, letter !== NOT_THERE ? badge(letter) : element("span", { class: "faint" }, "not in that run"));

function capabilitiesCompared({ old, new: new_, changes }) {
  const { columns, places } = data.capabilities;
  const name = (index) => (columns.indexOf(columns[index]) !== columns.lastIndexOf(columns[index]) ? `${columns[index]} (${places[index]})` : columns[index]);
  return element("article", { class: "compared" }, element("h3", {}, `Capabilities: ${name(old)} → ${name(new_)}`),
    element("details", { open: changes.length <= 20 }, element("summary", {}, some(changes.length, "capability", "capabilities"), " changed"),
      scrolled("Capability changes", tableOf(element("span", { class: "unseen" }, "Capability changes"), ["", "capability", "was", "is"],
        changes.map(([title, label, was, is]) => element("tr", {}, element("td", {}, title), element("th", { scope: "row" }, label),
          element("td", {}, was), element("td", {}, is)))))));
}

function speedCompared({ old, new: new_, threshold, slower, faster, newly_wrong: wrong, same }) {
  const beyond = [...slower.map((row) => [row, "▼ slower", "fail"]), ...faster.map((row) => [row, "▲ faster", "pass"])]
    .sort(([a], [b]) => b.ratio - a.ratio);
  const time = (value, unit) => (unit === "s" ? duration(1e9 * value, "ns") : duration(value, unit));
  const range = ({ median, low, high }, unit) => `${time(median, unit)} (${time(low, unit)} … ${time(high, unit)})`;
  const wrongRows = Object.entries(wrong);
  const counts = [[wrongRows.length, "newly wrong", "fail"], [slower.length, "slower", "fail"], [faster.length, "faster", "pass"],
    [same, "same", "none"]];
  return element("article", { class: "compared" },
    element("h3", {}, `Speed: ${data.benches[old].place} → ${data.benches[new_].place}`),
    element("ul", { class: "tiles" }, counts.map(([count, words, style]) =>
      element("li", { class: count ? style : "none" }, element("strong", {}, number(count)), ` ${words}`))),
    element("p", { class: "faint" }, "Slower and faster are rows whose intervals lie apart",
      threshold > 0 && `, by more than ${Number((100 * threshold).toPrecision(6))} % of the median`, "."),
    wrongRows.length > 0 && scrolled("Newly wrong", tableOf(element("span", { class: "unseen" }, "Newly wrong"), ["benchmark", "what is wrong"],
      wrongRows.map(([name, words]) => element("tr", {}, element("th", { scope: "row" }, name), element("td", {}, words))))),
    beyond.length > 0 && sortable("Speed changes", [["benchmark", ([change]) => change.row], ["was (interval)", ([change]) => change.old.median],
      ["is (interval)", ([change]) => change.new.median], ["time", ([change]) => change.ratio], ["", null]], beyond,
      ([change, words, style]) => element("tr", {},
        element("th", { scope: "row" }, change.row), element("td", {}, range(change.old, change.unit)), element("td", {}, range(change.new, change.unit)),
        element("td", { class: "amount" }, change.ratio !== null && `× ${change.ratio.toPrecision(3)}`),
        element("td", {}, element("span", { class: `badge ${style}` }, words))), { size: CHANGES_A_PAGE }));
}

function duration(value, unit) {
  if (unit !== "ns") return `${value.toPrecision(3)} ${unit}`;
  const [scale, name] = value < 1e3 ? [1, "ns"] : value < 1e6 ? [1e3, "µs"] : value < 1e9 ? [1e6, "ms"] : [1e9, "s"];
  return `${(value / scale).toPrecision(4)} ${name}`;
}
