// What the page shows of a trace, whatever the step.

/** Show another trace, at the step of its finding. */
function traceChosen(index) {
  trace = traces[index];
  findingLocated();
  settingShown();
  gridBuilt();
  menusFilled();
  toLane(trace.focusAt);
}

function settingShown() {
  const cut = [], box = byId("finding");
  if (trace.count < trace.invocations) cut.push(`${trace.count} of the workgroup's ${trace.invocations} invocations are recorded`);
  if (trace.steps.length && !(trace.steps[0][0] <= 0 && trace.complete)) {
    const own = trace.steps.filter((step) => step[0] >= 0);
    cut.push(`of ${trace.total} steps, those from ${own[0][0] + 1} to ${own.at(-1)[0] + 1} are recorded`);
  }
  if (trace.othersLeftOut) cut.push("not all writes of other workgroups are recorded");
  box.replaceChildren();
  if (trace.message) {
    box.append(element("p", {}, element("span", { class: "kind" }, `${trace.title}: `), trace.message), element("p", { id: "who" }, whoText()));
    if (trace.help) box.append(element("p", {}, `Help: ${trace.help}`));
  }
  box.append(element("p", { class: "note" },
    `Workgroup (${trace.workgroup.join(", ")}) on the reference device, ${trace.setting}.${cut.length ? ` Cut: ${cut.join("; ")}.` : ""}`));
}

function gridBuilt() {
  cells = [];
  byId("grid").replaceChildren(...trace.subgroups.map((subgroup) => {
    const own = element("div", { class: "cells" });
    let at = 0;
    // Lanes without an invocation are in their places, as far as to the end of a row after the last one.
    const missing = (end) => { for (; at < end; ++at) own.append(element("span", { class: "cell missing", title: `lane ${at}: no invocation` }, element("small", {}, String(at)), "–")); };
    for (let lane = 0; lane < trace.count; ++lane) {
      if (trace.subgroup[lane] !== subgroup) continue;
      missing(trace.lane[lane]);
      ++at;
      own.append(cells[lane] = laneCell(lane));
    }
    missing(Math.min(trace.size, Math.ceil((at + 1) / 8) * 8));
    return element("div", { class: trace.size > 8 ? "subgroup" : "subgroup small" }, element("h3", {}, `subgroup ${subgroup}`), own);
  }));
  fitted();
}

function laneCell(lane) {
  const name = `subgroup ${trace.subgroup[lane]}, lane ${trace.lane[lane]}, invocation (${trace.local[lane].join(", ")})`;
  const cell = element("button", { class: "cell", title: name, "aria-label": name }, element("small", {}, String(trace.lane[lane])), document.createTextNode(""));
  cell.addEventListener("click", () => { chosen = lane; shown(); });
  return cell;
}

function menusFilled() {
  const names = [...new Set(trace.positions.map((position) => data.names[position]).filter(Boolean))].sort();
  byId("watch").replaceChildren(element("option", { value: "" }, "the value of this step"), ...names.map((name) => element("option", { value: name }, name)));
  byId("memories").replaceChildren(...trace.memories.map((memory, number) => element("option", { value: number }, `${memory.name} (${memory.kind})`)));
  byId("memory").hidden = !trace.memories.length;
  const named = trace.memories.findIndex((memory) => memory.name === trace.memory);
  if (named >= 0) byId("memories").value = named;
  follows = true;
  byId("slider").max = trace.steps.length - 1;
  byId("marks").replaceChildren(...[trace.focusAt, first].filter((step) => step >= 0 && trace.message).map((step) => element("option", { value: step })));
  byId("other").hidden = first < 0;
  byId("other").textContent = trace.other >= 0 ? "first access" : "its use";
  byId("focus").hidden = !trace.message;
}

function fileChosen(number) {
  file = number;
  const said = new Map(trace.marked.map(([position, words]) => [rowOf(position), words]));
  rows = data.files[file].lines.map((pieces, row) => element("div", said.has(row) ? { class: "marked" } : {},
    element("span", { class: "at" }), element("span", { class: "n" }, String(data.files[file].numbers[row] || "")),
    element("span", { class: "t" }, ...pieces.map(([kind, piece]) => kind ? element("span", { class: `code-${kind[0]}` }, piece) : piece)),
    element("span", { class: "said" }, said.get(row) ?? "")));
  rows.forEach((row, number_) => row.addEventListener("click", () => {
    const on = (step) => rowOf(trace.steps[step][1]) === number_;
    let step = seek(1, on);
    if (!on(step)) { step = 0; while (step < trace.steps.length - 1 && !on(step)) ++step; }
    if (on(step)) go(step);
  }));
  byId("code").replaceChildren(...rows);
}

/** Make rows of 4 lanes or a multiple of 8, as many as fit. */
function fitted() {
  const most = Math.floor(byId("grid").clientWidth / 58), rows_ = most >= 8 ? most - most % 8 : 4;
  byId("grid").style.setProperty("--columns", Math.max(1, Math.min(rows_, trace.size)));
}
new ResizeObserver(() => trace && fitted()).observe(byId("grid"));
