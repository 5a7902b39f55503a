// Charts that were drawn when the report was made, with their numbers as tables.

function benchmarksShown() {
  bodyOf("benchmarks").replaceChildren(...data.benches.map((bench, index) => {
    const charts = byId(`charts-${index}`);
    if (charts) charts.hidden = false;
    return element("article", {}, element("h3", {}, bench.place),
      element("p", { class: "faint" }, [bench.device, bench.driver, bench.clock, bench.date].filter(Boolean).join(" · ")),
      charts, numbersShown(bench), failedShown(bench));
  }));
}

const TIMES = [["benchmark", (row) => row.row], ["version", (row) => row.version], ["time", (row) => row.time.value],
  ["interval", (row) => row.time.high - row.time.low], ["rate", (row) => row.rate || null],
  ["÷ subgroup's time", (row) => row.ratio?.value], ["of the ceiling", (row) => row.share?.value]];

function numbersShown(bench) {
  if (!bench.rows.length) return null;
  return unfolded(false, `The numbers (${some(bench.rows.length, "row")})`, () => sortable(`Times of ${bench.place}`, TIMES, bench.rows,
    (row) => element("tr", {},
        element("th", { scope: "row" }, row.row), element("td", {}, row.version),
        element("td", { class: "amount" }, duration(row.time.value, row.unit)),
        element("td", { class: "amount" }, `${duration(row.time.low, row.unit)} … ${duration(row.time.high, row.unit)}`),
        element("td", { class: "amount" }, row.rate ? `${(row.rate / 1e9).toPrecision(4)} G${row.counts === "bytes" ? "B" : row.counts.slice(0, -1)}/s` : ""),
        element("td", { class: "amount" }, row.ratio ? row.ratio.value.toPrecision(3) : ""),
        element("td", { class: "amount" }, row.share ? `${(100 * row.share.value).toPrecision(3)} % of ${row.ceiling}` : "")),
    { size: CHANGES_A_PAGE }));
}

function failedShown(bench) {
  if (!bench.failed.length) return null;
  return element("details", {}, element("summary", {}, `${some(bench.failed.length, "row")} without a time`),
    element("ul", {}, bench.failed.map(([name, why]) => element("li", {}, element("strong", {}, name), `: ${why}`))));
}
