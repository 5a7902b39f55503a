// What the page shows of a step.

function go(step) {
  at = Math.max(0, Math.min(trace.steps.length - 1, step));
  trace.go(at);
  const [where] = data.places[trace.steps[at][1]] ?? [file];
  if (!rows.length || (where !== file && !showsAssembly())) { byId("file").value = where; fileChosen(where); }
  shown();
}

/** Go to a step of the finding, and choose its lane. */
function toLane(step) {
  const lane = trace.lanes[step === first ? 1 : 0];
  if (lane >= 0) chosen = lane;
  else if (!trace.active(step, chosen)) chosen = trace.lanesOf(step)[0] ?? 0;
  go(step);
}

function shown() {
  byId("slider").value = at;
  const last = trace.lastOf(at);
  lanesShown(last);
  codeShown(last);
  whereShown();
  memoryShown();
  laneShown(last);
}

const watched = () => byId("watch").value;

function lanesShown(last) {
  const name = watched(), blamed = trace.lanes;
  const latest = name ? latestValues(name) : null;
  for (let lane = 0; lane < trace.count; ++lane) {
    const active = trace.active(at, lane);
    const value = active && !name ? trace.value(at, lane, brief) : latest?.[lane];
    const flow = trace.steps[at][3];
    const classes = ["cell"];
    if (active) classes.push("active");
    else if (last[lane] === trace.final[lane] && trace.complete) classes.push("ended");
    else classes.push("waiting");
    if (active && flow === "branch" && value?.text === "true") classes.push("yes");
    if (value?.undefined) classes.push("undefined");
    if (lane === chosen) classes.push("chosen");
    if ((at === trace.focusAt && lane === blamed[0]) || (at === first && lane === blamed[1])) classes.push("blame");
    // A lane that waits shows the line after which it does.
    const idle = !active && !name && last[lane] >= 0 && classes.includes("waiting") ? lineName(trace.steps[last[lane]][1]).replace(/^\w+ /, "‖ ") : "";
    const cell = cells[lane], kind = classes.join(" "), words = value ? value.text + (value.undefined ? "?" : "") : idle;
    if (cell.className !== kind) cell.className = kind;
    if (cell.lastChild.data !== words) cell.lastChild.data = words;
  }
}

/** The latest value of a name in each lane, up to the step shown. */
function latestValues(name) {
  const values = new Array(trace.count), positions = new Set(trace.positions.filter((position) => data.names[position] === name));
  let missing = trace.count;
  for (let step = at; step >= 0 && missing; --step) {
    if (!positions.has(trace.steps[step][1]) || !trace.steps[step][4].length) continue;
    for (const lane of trace.lanesOf(step)) if (values[lane] === undefined) { values[lane] = trace.value(step, lane, brief); --missing; }
  }
  return values;
}

function codeShown(last) {
  const counts = new Map();
  last.forEach((step, lane) => {
    if (step < 0 || trace.active(at, lane) || (step === trace.final[lane] && trace.complete)) return;
    const row = rowOf(trace.steps[step][1]);
    counts.set(row, (counts.get(row) || 0) + 1);
  });
  const now = rowOf(trace.steps[at][1]);
  rows.forEach((row, number) => {
    const words = counts.has(number) ? `${counts.get(number)} ‖` : "";
    const mark = row.firstChild;
    if (mark.textContent !== words) { mark.textContent = words; mark.title = words && `${counts.get(number)} lanes wait after this line`; }
    row.classList.toggle("now", number === now);
  });
  const row = rows[now], code = byId("code");
  if (row && (row.offsetTop - code.offsetTop < code.scrollTop + 20 || row.offsetTop - code.offsetTop > code.scrollTop + code.clientHeight - 40)) {
    code.scrollTop = row.offsetTop - code.offsetTop - code.clientHeight / 2;
  }
}

function whereShown() {
  const [number, position, set] = trace.steps[at], words = flowOf(at).map((each) => `; ${each}`), lines = [];
  const [where, row] = data.places[position] ?? [];
  const source = where === undefined || where === data.files.length - 1 ? "" : data.files[where].lines[row].map(([, piece]) => piece).join("").trim();
  const head = number < 0 ? "An instruction of another workgroup" : `Step ${number + 1} of ${trace.total}`;
  lines.push(element("div", {}, `${head}, ${lineName(position)}${source ? ": " : ""}`, source && element("code", {}, source)));
  lines.push(element("div", {}, `${trace.sizes[set]} of ${trace.count} lanes execute it${words.join("")}`));
  lines.push(element("div", {}, element("code", { class: "assembly" }, data.code[position] ?? "")));
  if (trace.message && at === trace.focusAt) lines.push(element("div", { class: "event" }, trace.other >= 0 ? `The second access of the ${trace.title}` : trace.origin.length ? "The undefined value comes from here" : `The step of the finding (${trace.title})`));
  else if (at === first) lines.push(element("div", { class: "event" }, trace.other >= 0 ? `The first access of the ${trace.title}` : "The undefined value is used here"));
  byId("where").replaceChildren(...lines);
}

function memoryShown() {
  const accessed = trace.accesses(at)[0]?.memory;
  if (follows && accessed !== undefined) byId("memories").value = accessed;
  const which = Number(byId("memories").value || 0), memory = trace.memories[which];
  if (!memory) return;
  const state = trace.state[which], touched = new Map();
  for (const access of trace.accesses(at)) if (access.memory === which) access.elements.forEach((each) => touched.set(each, access.kind));
  byId("memory-note").textContent = memory.elements.length === 1 ? "1 number that this workgroup accesses" : `${memory.elements.length} numbers that this workgroup accesses`;
  const most = 512, box = byId("elements");
  let start = 0;
  if (memory.elements.length > most && touched.size) start = Math.max(0, Math.min(Math.min(...touched.keys()) - 64, memory.elements.length - most));
  const wanted = memory.elements.slice(start, start + most);
  while (box.childElementCount > wanted.length) box.lastChild.remove();
  while (box.childElementCount < wanted.length) box.append(elementCell());
  let seen = null;
  wanted.forEach((name, index) => {
    const which_ = start + index, cell = box.children[index], [label, value, note] = cell.children;
    cell.number = which_;
    const kind = touched.get(which_), classes = ["element"];
    if (kind !== undefined) { classes.push(kind === READ ? "read" : "write"); seen ??= cell; }
    if (trace.blamed.includes(`${which}.${which_}`)) { classes.push("blame"); if (kind !== undefined) seen = cell; }
    const by = state.writers[which_] < 0 ? unwritten(state.values[which_]) : `by ${trace.laneName(state.who[which_])}, ${lineName(trace.steps[state.writers[which_]][1])}`;
    const contents = state.values[which_] === null ? "" : text(state.types[which_], state.values[which_]);
    const className = classes.join(" ");
    if (cell.className !== className) cell.className = className;
    if (label.textContent !== name) { label.textContent = name; cell.title = name; }
    if (value.textContent !== ` ${contents}`) value.textContent = ` ${contents}`;
    if (note.textContent !== by) { note.textContent = by; }
  });
  if (seen && (seen.offsetTop - box.offsetTop < box.scrollTop || seen.offsetTop - box.offsetTop > box.scrollTop + box.clientHeight - 30)) box.scrollTop = seen.offsetTop - box.offsetTop - 40;
}

/** What to say of a number that no recorded step has written. */
function unwritten(value) {
  if (trace.steps[0][0] > 0) return "not written in this record";
  return value === null ? "never written so far" : "initial value";
}

/** A number of a memory; a click leads to its last write. */
function elementCell() {
  const cell = element("button", { class: "element" }, element("b", {}), element("span", {}), element("small", {}));
  cell.addEventListener("click", () => {
    const writer = trace.state[Number(byId("memories").value || 0)].writers[cell.number];
    if (writer >= 0) go(writer);
  });
  return cell;
}

/** What a step makes, loads or stores in a lane: an element of a memory, or a name of the source. */
function nameOf(step, lane) {
  for (const access of trace.accesses(step)) {
    const index = access.who.indexOf(lane);
    // An atomic gives what the memory held before.
    if (index >= 0) return trace.memories[access.memory].elements[access.elements[index]] + (access.kind === 2 ? " before" : "");
  }
  return data.names[trace.steps[step][1]];
}

function laneShown(last) {
  const step = last[chosen];
  const upcoming = trace.next(at, chosen);
  let state = "executes this step";
  if (!trace.active(at, chosen)) {
    if (upcoming < 0) state = trace.complete ? "has ended" : "executes nothing more in this record";
    else if (isBarrier(upcoming)) state = `waits at the barrier in ${lineName(trace.steps[upcoming][1])}`;
    else state = step < 0 ? "has not begun" : `waits after ${lineName(trace.steps[step][1])}; goes on with ${lineName(trace.steps[upcoming][1])} in step ${trace.steps[upcoming][0] + 1}`;
  }
  byId("lane-head").textContent = `${trace.laneName(chosen)}, invocation (${trace.local[chosen].join(", ")}): ${state}`;
  const seen = new Map();
  for (let earlier = at; earlier >= 0 && seen.size < 200; --earlier) {
    if (!trace.active(earlier, chosen) || !trace.steps[earlier][4].length) continue;
    const position = trace.steps[earlier][1], name = nameOf(earlier, chosen);
    // Of a composite of which a part was stored later, only the parts are known.
    const isOld = name && [...seen.keys()].some((other) => other.startsWith(`${name}[`) || other.startsWith(`${name}.`));
    if (name && !isOld && !seen.has(name)) seen.set(name, [trace.value(earlier, chosen), position, earlier]);
  }
  const given = trace.active(at, chosen) ? trace.operands(at, chosen).map((value, number_) => [number_ ? "and with" : "this lane gives", value]) : [];
  byId("values").replaceChildren(...given.map(([name, value]) => element("tr", {}, element("td", {}, name), element("td", {}, value), element("td", { class: "faint" }, "now"))), ...[...seen].map(([name, [value, position, earlier]]) => element("tr", {},
    element("td", {}, name), element("td", value.undefined ? { class: "undefined" } : {}, value.undefined ? `${value.text}?` : value.text),
    element("td", { class: "faint" }, earlier === at ? "now" : lineName(position)))));
}
