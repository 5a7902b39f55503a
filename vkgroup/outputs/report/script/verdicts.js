// The first lines of the page: what was tested, whether it passed, and counts.

function verdictsShown() {
  const lines = [...runs.map(runVerdict), checksVerdict(), ...data.benches.map(benchVerdict), costsVerdict()].filter(Boolean);
  if (!lines.length && data.capabilities.columns.length) {
    lines.push(["none", "Capabilities", [data.capabilities.columns.join(", ")], "nothing was tested"]);
  }
  byId("verdicts").replaceChildren(...lines.map(([style, verdict, subject, counts]) => element("li", {},
    element("span", { class: `badge ${style}` }, verdict), " ", element("strong", {}, subject.filter(Boolean).join(" · ")), `: ${counts}`)));
}

function runVerdict(run) {
  const count = (letters) => [...letters].reduce((all, letter) => all + (run.totals[data.statuses[letter]] ?? 0), 0);
  const against = count(AGAINST);
  const isKnown = run.causes.length > 0 && run.causes.every((cause) => cause.known) && !run.promises.length;
  const [style, verdict] = against || run.promises.length
    ? isKnown ? ["undefined", "◌ Known errors only"] : ["fail", "✗ Failed"]
    : !count(GIVEN) ? ["lacking", "– Nothing tested"]
      : run.unfinished || run.damaged ? ["undefined", "◌ Incomplete"] : ["pass", "Compiled" in run.totals ? "✓ Compiled" : "✓ Passed"];
  const causes = causesWords(run.causes);
  const words = [[count("P"), "passed"], [count("D"), "compiled"], [against, causes ? `failed (${causes})` : "failed"], [count("U"), "undefined"],
    [count("N"), "not supported"], [run.unfinished, "without a verdict"], [run.promises.length, `broken ${run.promises.length === 1 ? "promise" : "promises"} of Vulkan`]]
    .map(([some_, text]) => some_ > 0 && `${number(some_)} ${text}`);
  return [style, verdict, [run.driver, run.about.Vulkan && `Vulkan ${run.about.Vulkan}`, run.device], words.filter(Boolean).join(", ")];
}

function checksVerdict() {
  const { checks } = data;
  if (!checks.length) return null;
  const found = checks.reduce((all, check) => all + check.findings.length, 0);
  const wrong = checks.filter((check) => check.findings.length).length;
  const subject = checks.length === 1 ? checks[0].shader : some(checks.length, "shader");
  return found ? ["fail", "✗ Findings", [subject], some(found, "finding") + (checks.length > 1 ? ` in ${some(wrong, "shader")}` : "")]
    : ["pass", "✓ Nothing found", [subject], "no finding"];
}

function benchVerdict(bench, index) {
  const compared = data.compared.speed.find((one) => one.new === index);
  const [wrong, slower, faster] = compared ? [Object.keys(compared.newly_wrong).length, compared.slower.length, compared.faster.length] : [0, 0, 0];
  const words = [some(bench.rows.length, "time"), bench.failed.length > 0 && `${some(bench.failed.length, "row")} without a time`,
    wrong > 0 && `${number(wrong)} newly wrong`, compared && `${number(slower)} slower, ${number(faster)} faster than ${data.benches[compared.old].place}`];
  return [wrong || slower ? "fail" : "none", wrong ? "✗ Newly wrong" : slower ? "▼ Slower" : "Benchmarks",
    [bench.driver, bench.device], words.filter(Boolean).join(", ")];
}

function costsVerdict() {
  if (!data.costs.length) return null;
  const drivers = data.costs.flatMap((cost) => cost.drivers);
  const refused = drivers.flatMap((driver) => driver.rows).filter((row) => row.sides.some((side) => side.status === "Rejected")).length;
  const names = [...new Set(drivers.map((driver) => driver.name))];
  return [refused ? "fail" : "none", refused ? "✗ Rejected" : "Costs", [data.costs.length === 1 ? data.costs[0].shader : some(data.costs.length, "shader")],
    `static costs on ${names.join(", ")}${refused ? `; ${some(refused, "row")} with an error` : ""}`];
}
