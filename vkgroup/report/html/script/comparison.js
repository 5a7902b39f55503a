// The first run against each later one.

const CHANGES_A_PAGE = 50;

function comparisonShown() {
  const { cases, capabilities, speed } = data.compared;
  const parts = [...cases.map(casesCompared), ...capabilities.filter((one) => one.changes.length).map(capabilitiesCompared),
    ...speed.map(speedCompared)];
  bodyOf("comparison").replaceChildren(...parts);
  return parts.length > 0;
}

function casesCompared(one) {
  const [old, new_] = [runs[one.old], runs[one.new]];
  const lists = [["Newly failing", one.newly_failing, "fail"], ["Fixed", one.fixed, "pass"], ["Otherwise changed", one.otherwise, "undefined"]];
  return element("article", { class: "compared" },
    element("h3", {}, "Cases: ", element("span", { class: "old" }, runName(old)), " → ", element("span", {}, runName(new_))),
    element("ul", { class: "tiles" }, lists.map(([title, list, style]) => element("li", { class: list.length ? style : "none" },
      element("strong", {}, number(list.length)), ` ${title.toLowerCase()}`)),
    element("li", { class: "none" }, element("strong", {}, number(one.only_old)), " in the first run only"),
    element("li", { class: "none" }, element("strong", {}, number(one.only_new)), " in the second only")),
    lists.map(([title, list], index) => list.length > 0 && element("details", { open: index < 2 },
      element("summary", {}, `${title}: ${some(list.length, "case")}`),
      paged(list, CHANGES_A_PAGE, (rows) => scrolled(title, tableOf(element("span", { class: "unseen" }, title), ["case", "was", "is"],
        rows.map((change) => element("tr", {}, element("th", { scope: "row" }, element("a", { href: caseLink(change.case, new_) }, change.case)),
          statusCell(change.old), statusCell(change.new))), { class: "cases" })), `Pages: ${title}`))));
}

const statusCell = (name) => element("td", {}, name ? badge(LETTER_OF[name]) : element("span", { class: "faint" }, "not in that run"));

function capabilitiesCompared({ old, new: new_, changes }) {
  const { columns, places } = data.capabilities;
  const name = (index) => (columns[old] === columns[new_] ? `${columns[index]} (${places[index]})` : columns[index]);
  return element("article", { class: "compared" }, element("h3", {}, `Capabilities: ${name(old)} → ${name(new_)}`),
    element("details", { open: changes.length <= 20 }, element("summary", {}, some(changes.length, "capability", "capabilities"), " changed"),
      scrolled("Capability changes", tableOf(element("span", { class: "unseen" }, "Capability changes"), ["", "capability", "was", "is"],
        changes.map(([title, label, was, is]) => element("tr", {}, element("td", {}, title), element("th", { scope: "row" }, label),
          element("td", {}, was), element("td", {}, is)))))));
}

function speedCompared({ old, new: new_, changes }) {
  const beyond = changes.filter((change) => change.verdict !== "same")
    .sort((a, b) => b.new[0] / b.old[0] - a.new[0] / a.old[0]);
  const count = (verdict) => changes.filter((change) => change.verdict === verdict).length;
  const range = ([middle, low, high], unit) => `${duration(middle, unit)} (${duration(low, unit)} … ${duration(high, unit)})`;
  return element("article", { class: "compared" },
    element("h3", {}, `Speed: ${data.benches[old].place} → ${data.benches[new_].place}`),
    element("ul", { class: "tiles" }, [["slower", "fail"], ["faster", "pass"], ["same", "none"]].map(([verdict, style]) =>
      element("li", { class: count(verdict) ? style : "none" }, element("strong", {}, number(count(verdict))), ` ${verdict}`))),
    element("p", { class: "faint" }, "Slower and faster are rows whose intervals lie apart, by more than 5 % of the median."),
    beyond.length > 0 && paged(beyond, CHANGES_A_PAGE, (rows) => scrolled("Speed changes", tableOf(element("span", { class: "unseen" }, "Speed changes"),
      ["benchmark", "was (interval)", "is (interval)", "time", ""], rows.map((change) => element("tr", {},
        element("th", { scope: "row" }, change.name), element("td", {}, range(change.old, change.unit)), element("td", {}, range(change.new, change.unit)),
        element("td", { class: "amount" }, `× ${(change.new[0] / change.old[0]).toPrecision(3)}`),
        element("td", {}, element("span", { class: `badge ${change.verdict === "slower" ? "fail" : "pass"}` },
          change.verdict === "slower" ? "▼ slower" : "▲ faster"))))), "Pages of speed changes")));
}

function duration(value, unit) {
  if (unit !== "ns") return `${value.toPrecision(3)} ${unit}`;
  const [scale, name] = value < 1e3 ? [1, "ns"] : value < 1e6 ? [1e3, "µs"] : value < 1e9 ? [1e6, "ms"] : [1e9, "s"];
  return `${(value / scale).toPrecision(4)} ${name}`;
}
