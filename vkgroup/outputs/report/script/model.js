// The data of the page, and questions about it.

const data = JSON.parse(byId("data").textContent);

const MARKS = {
  P: { mark: "✓", name: "Pass", style: "pass" },
  F: { mark: "✗", name: "Fail", style: "fail" },
  C: { mark: "‼", name: "Crash", style: "fail" },
  T: { mark: "∞", name: "Timeout", style: "fail" },
  U: { mark: "◌", name: "Undefined", style: "undefined" },
  N: { mark: "–", name: "NotSupported", style: "lacking" },
  D: { mark: "✓", name: "Compiled", style: "pass" },
  R: { mark: "✗", name: "Rejected", style: "fail" },
};
const LETTER_OF = Object.fromEntries(Object.entries(data.statuses).map(([letter, name]) => [name, letter]));
const AGAINST = "FCTR";
// Cases that the driver was given, whether it executes or only compiles.
const GIVEN = "PFCTUDR";
const STAGES = ["vertex", "tessellation_control", "tessellation_evaluation", "geometry", "fragment", "compute", "task", "mesh",
  "raygen", "any_hit", "closest_hit", "miss", "intersection", "callable"];
const AXES = ["category", "stage", "operation", "type"];

// A block is the cases of one run that share a head: a category, stage, operation and type.
const runs = data.runs.map((run, index) => ({
  ...run,
  index,
  blocks: run.cases.map(([head, tails, statuses, lanes, notes]) => {
    const [prefix, ...axes] = data.heads[head];
    const [category, stage, operation, type] = axes.map((word) => data.words[word]);
    return { prefix, category, stage, operation, type, tails, statuses, lanes, notes };
  }),
}));
const withCases = runs.filter((run) => run.blocks.length);
// Of a run of which only the summary was read the causes are known, and not the cases.
const selectable = runs.filter((run) => run.blocks.length || run.causes.length);
let shown = withCases[0] ?? selectable[0] ?? null;
const onRunChange = [];

function showRun(index) {
  if (!selectable.includes(runs[index]) || shown === runs[index]) return;
  shown = runs[index];
  byId("run").value = String(index);
  for (const changed of onRunChange) changed();
}

const pick = (packed, index) => (typeof packed === "number" ? packed : packed[index]);

function caseAt(block, index) {
  const tail = data.tails[block.tails[index]];
  const [defined, undefinedLanes] = data.lanes[pick(block.lanes, index)];
  return {
    name: tail ? `${block.prefix}.${tail}` : block.prefix,
    status: block.statuses[index],
    defined,
    undefinedLanes,
    note: data.notes[pick(block.notes, index)],
    block,
  };
}

function caseNamed(run, name) {
  for (const block of run.blocks) {
    if (name !== block.prefix && !name.startsWith(`${block.prefix}.`)) continue;
    for (let index = 0; index < block.tails.length; index++) {
      const found = caseAt(block, index);
      if (found.name === name) return found;
    }
  }
  return null;
}

function runName(run) {
  const same = runs.filter((other) => other.device === run.device && other.driver === run.driver);
  return same.length > 1 ? `${run.device} (${run.place})` : `${run.device}${run.driver ? ` · ${run.driver}` : ""}`;
}

const caseLink = (name, run = shown) =>
  `#${new URLSearchParams({ case: name, ...(run === withCases[0] ? {} : { run: run.index }) })}`;

function badge(letter) {
  const { mark, name, style } = MARKS[letter];
  return element("span", { class: `badge ${style}` }, element("span", { "aria-hidden": "true" }, `${mark} `), name);
}
