// Where the finding shows: its steps, lanes and elements.

/** Find the steps of a trace's finding, the lanes that take part, and the elements that they access. */
function findingLocated() {
  const steps = trace.steps, [lane, other] = trace.accessed.map((local) => trace.find(local));
  const reported = steps.findIndex((step) => step[0] >= trace.focus);
  trace.focusAt = trace.reported = reported < 0 ? steps.length - 1 : reported;
  trace.lanes = [lane, trace.other >= 0 ? other : lane];
  first = -1;
  if (trace.element) elementFound();
  else if (trace.origin.length) originFound();
  else if (trace.other >= 0) firstAccessFound();
  else trace.blamed = [];
}

/** Of an undefined value: the step where it is read or made; the other step is its use. */
function originFound() {
  for (let step = trace.reported; step >= 0; --step) {
    const lane = trace.lanes[0] >= 0 ? trace.lanes[0] : trace.lanesOf(step)[0];
    if (trace.origin.includes(trace.steps[step][1]) && trace.active(step, lane)) { trace.focusAt = step; break; }
  }
  if (trace.focusAt !== trace.reported) first = trace.reported;
  trace.blamed = elementsOf(trace.focusAt, trace.lanes[0]);
}

/** Of a race: the last step before in which the other invocation accesses the same element. */
function firstAccessFound() {
  const [lane, other] = trace.lanes;
  trace.blamed = elementsOf(trace.focusAt, lane);
  for (let step = trace.focusAt; step >= 0 && first < 0 && other >= 0; --step) {
    if (trace.steps[step][1] !== trace.other || !trace.active(step, other)) continue;
    if (elementsOf(step, other).some((each) => trace.blamed.includes(each))) first = step;
  }
}

/** The elements that a lane accesses in a step, as "memory.element". */
function elementsOf(step, lane) {
  return trace.accesses(step).flatMap((access) => [...access.elements].filter((_, index) => access.who[index] === lane).map((each) => `${access.memory}.${each}`));
}

/** Of a difference: the last write of the number that differs, and its lane. */
function elementFound() {
  trace.memories.forEach((memory, which) => {
    // Several memories may have an element of this name; the instruction of the finding writes to one.
    const number_ = memory.elements.indexOf(trace.element);
    for (let step = trace.steps.length - 1; step >= 0 && number_ >= 0; --step) {
      if (trace.steps[step][1] !== trace.position) continue;
      const access = trace.accesses(step).find((each) => each.memory === which && each.kind !== READ && each.elements.includes(number_));
      if (!access) continue;
      trace.focusAt = step;
      trace.lanes = [access.who[access.elements.lastIndexOf(number_)], -1];
      trace.blamed = [`${which}.${number_}`];
      return;
    }
  });
}

/** Whether the lane of the second access has executed that instruction before the first access, too. */
function isRound(lane) {
  for (let step = first - 1; step >= 0; --step) if (trace.steps[step][1] === trace.steps[trace.focusAt][1] && trace.active(step, lane)) return true;
  return false;
}

/** The finding in the names of this execution: which lanes access which element, and where. */
function whoText() {
  const [lane, other] = trace.lanes;
  const element_ = trace.blamed.map((each) => { const [memory, number] = each.split("."); return trace.memories[memory].elements[number]; })[0];
  const verb = (step) => trace.accesses(step).some((access) => access.kind !== READ) ? "writes" : "reads";
  const at = lineName(trace.steps[trace.focusAt][1]);
  if (lane < 0) return "";
  const words = [`${trace.laneName(lane)} ${element_ ? `${verb(trace.focusAt)} ${element_} in ${at}` : `is an example, in ${at}`}`];
  if (trace.other >= 0 && first >= 0) words.push(`${trace.laneName(other)} ${verb(first)} it in ${lineName(trace.steps[first][1])}, ${trace.steps[trace.focusAt][0] - trace.steps[first][0]} steps before${isRound(lane) ? `, between two executions of ${at}, as in a loop` : ""}`);
  else if (trace.other >= 0) words.push(`the other access, in ${lineName(trace.other)}, is ${other < 0 ? "by another workgroup" : "outside of this record"}`);
  else if (first >= 0) words.push(`its use is reported in ${lineName(trace.steps[first][1])}`);
  return `Here: ${words.join("; ")}.`;
}
