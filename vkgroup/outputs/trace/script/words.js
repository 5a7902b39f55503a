// Places, lanes and what happens to them, in words.

const showsAssembly = () => file === data.files.length - 1;
/** The row of a position in the file shown, or -1. */
function rowOf(position) {
  const [where, row, code] = data.places[position] ?? [-1, -1, -1];
  return showsAssembly() ? code : where === file ? row : -1;
}
const lineOf = (position) => (data.places[position] ?? [-1, -1]).slice(0, 2).join();
function lineName(position) {
  const [where, row] = data.places[position] ?? [];
  return where === undefined ? "" : where === data.files.length - 1 ? `instruction ${row + 1}` : `line ${data.files[where].numbers[row]}`;
}
const isBarrier = (at) => data.barriers.includes(trace.steps[at][1]);

function lanesText(lanes) {
  const parts = [];
  for (let start = 0, end; start < lanes.length; start = end) {
    for (end = start + 1; end < lanes.length && lanes[end] === lanes[end - 1] + 1; ++end);
    parts.push(end - start > 1 ? `${lanes[start]}–${lanes[end - 1]}` : `${lanes[start]}`);
  }
  return parts.length > 8 ? `${parts.slice(0, 8).join(", ")} …` : parts.join(", ");
}

/** What happens to the lanes of subgroups at a step, in words: where they part, meet, wait and end. */
function flowOf(step) {
  const [, , set, ending, values] = trace.steps[step], words = [], lanes = trace.lanesOf(step);
  if (!lanes.length) return ["executed by another workgroup"];
  if (ending === "branch" && values.length) {
    const yes = lanes.filter((lane) => trace.value(step, lane).text === "true"), no = lanes.filter((lane) => !yes.includes(lane));
    if (yes.length && no.length) words.push(...sides(yes, no));
    else words.push(`the condition is ${yes.length ? "true" : "false"} in all of them`);
  }
  if (ending === "exit" || ending === "discard") words.push("they end here");
  let before = step - 1;
  while (before >= 0 && !trace.lanesOf(before).some((lane) => trace.subgroup[lane] === trace.subgroup[lanes[0]])) --before;
  if (before >= 0 && trace.steps[before][2] !== set) {
    const joined = lanes.filter((lane) => !trace.active(before, lane) && trace.lanesOf(before).some((other) => trace.subgroup[other] === trace.subgroup[lane]));
    if (joined.length && joined.length < lanes.length) words.push(`lanes ${bySubgroup(joined)} reconverge with the others here`);
  }
  if (data.barriers.includes(trace.steps[step][1])) {
    const missing = trace.count - lanes.length;
    words.push(missing ? `a barrier of the workgroup, to which ${missing} of its ${trace.count} invocations do not come` : "a barrier: all invocations of the workgroup have come");
  }
  return words;
}

const of = (lanes, subgroup) => lanes.filter((lane) => trace.subgroup[lane] === subgroup).map((lane) => trace.lane[lane]);

function bySubgroup(lanes) {
  const own = trace.subgroups.filter((subgroup) => of(lanes, subgroup).length);
  const words = own.slice(0, 2).map((subgroup) => lanesText(of(lanes, subgroup)) + (trace.subgroups.length > 1 ? ` of subgroup ${subgroup}` : ""));
  return words.join("; ") + (own.length > 2 ? ` and those of ${own.length - 2} more subgroups` : "");
}

function sides(yes, no) {
  const words = [];
  const parted = trace.subgroups.filter((subgroup) => of(yes, subgroup).length && of(no, subgroup).length);
  for (const subgroup of parted.slice(0, 2)) {
    const name = trace.subgroups.length > 1 ? `of subgroup ${subgroup} ` : "";
    words.push(`lanes ${name}diverge: true in ${lanesText(of(yes, subgroup))}, false in ${lanesText(of(no, subgroup))}`);
  }
  if (parted.length > 2) words.push(`${parted.length - 2} more subgroups diverge`);
  if (!parted.length) words.push(`true in ${yes.length} lanes and false in ${no.length}; no subgroup diverges`);
  return words;
}
