// Builds the sections, and follows the address.

function summaryShown() {
  bodyOf("summary").replaceChildren(element("div", { class: "cards" }, runs.map((run) => {
    const total = Object.values(run.totals).reduce((all, count) => all + count, 0);
    const about = Object.entries(run.about).filter(([, value]) => value !== null && value !== undefined);
    return element("article", { class: "card" }, element("h2", {}, run.device), element("p", { class: "faint" }, run.driver),
      element("ul", { class: "tiles" }, Object.entries(run.totals).map(([name, count]) => {
        const { mark, style } = MARKS[LETTER_OF[name]];
        return element("li", { class: count ? style : "none" }, element("span", { "aria-hidden": "true" }, `${mark} `),
          element("strong", {}, number(count)), ` ${name}`);
      })),
      element("p", {}, `${some(total, "case")}; ` + ("Compiled" in run.totals ? "nothing was executed"
        : `${some(run.judged.defined, "lane")} judged, ${number(run.judged.undefined)} undefined`)),
      run.promises.map((promise) => element("p", { class: "notice" }, `The device breaks a promise of Vulkan: ${promise}`)),
      run.missing && element("p", { class: "notice" }, run.missing),
      run.damaged > 0 && element("p", { class: "notice" }, `${some(run.damaged, "line")} of the results could not be read.`),
      element("dl", {}, about.map(([name, value]) => [element("dt", {}, name), element("dd", {}, String(value))]),
        element("dt", {}, "from"), element("dd", {}, run.place)));
  })));
}

function followAddress() {
  const asked = new URLSearchParams(location.hash.slice(1));
  const dialog = byId("case");
  if (asked.has("run")) showRun(Number(asked.get("run")));
  if (asked.has("case")) {
    openCase(asked.get("case"), asked.has("run") ? Number(asked.get("run")) : withCases[0]?.index);
    return;
  }
  if (dialog.open) dialog.close();
  if (asked.has("cause")) {
    const cause = byId(`cause-${asked.get("run")}-${asked.get("cause")}`);
    if (cause) { leaving = location.hash; cause.open = true; cause.scrollIntoView(); cause.focus(); }
  }
  if (asked.has("cases") && shown?.blocks.length) {
    setCaseFilter(Object.fromEntries(asked));
    leaving = location.hash || "#cases";
    caseControls.details.open = true;
    casesShown();
    byId("cases").scrollIntoView();
  }
}

function runChoiceBuilt() {
  const select = byId("run");
  select.append(...selectable.map((run) => element("option", { value: run.index }, runName(run))));
  select.addEventListener("change", () => showRun(Number(select.value)));
  byId("run-choice").hidden = selectable.length < 2;
}

const OF_CASES = [["map", "Conformance"], ["cases", "Cases"]];

function casesOfRunShown() {
  for (const [id] of OF_CASES) {
    byId(id).hidden = document.querySelector(`#sections a[href="#${id}"]`).parentElement.hidden = !shown.blocks.length;
  }
  if (!shown.blocks.length) return;
  mapShown();
  axesFilled();
  casesShown();
}

function start() {
  verdictsShown();
  if (shown) { show("causes", "Causes"); causesShown(); runChoiceBuilt(); onRunChange.push(causesShown); }
  if (runs.length) { show("summary", "Results"); summaryShown(); }
  if (comparisonShown()) show("comparison", "Changes");
  if (withCases.length) {
    for (const [id, title] of OF_CASES) show(id, title);
    casesBuilt();
    setCaseFilter(shown.causes.length ? { status: "against" } : {});
    casesOfRunShown();
    onRunChange.push(casesOfRunShown);
  }
  if (data.checks.length) { show("checks", "Shaders"); checksShown(); }
  if (data.costs.length) { show("costs", "Costs"); costsShown(); }
  if (data.benches.length) { show("benchmarks", "Benchmarks"); benchmarksShown(); }
  if (data.capabilities.columns.length) { show("capabilities", "Capabilities"); capabilitiesBuilt(); }
  byId("made").textContent = `Made by vkgroup ${data.vkgroup} at ${data.made}`;
  byId("case").addEventListener("close", () => {
    if (new URLSearchParams(location.hash.slice(1)).has("case")) history.pushState(null, "", leaving);
  });
  addEventListener("hashchange", followAddress);
  addEventListener("beforeprint", () => {
    for (const details of document.querySelectorAll("details.cause, .cause .source")) { details.fill(); details.open = true; }
  });
  followAddress();
  document.documentElement.dataset.ready = "yes";
}

start();
