// Keys, buttons and menus.

/** The next step in a direction that some test accepts, or the last one there. */
function seek(direction, accepts) {
  let step = at + direction;
  while (step > 0 && step < trace.steps.length - 1 && !accepts(step)) step += direction;
  return step;
}
function lineStep(direction) {
  const here = lineOf(trace.steps[at][1]), other = (step) => lineOf(trace.steps[step][1]) !== here;
  if (direction > 0) return seek(1, other);
  // To the first instruction of the line before.
  const end = seek(-1, other), line = end > 0 ? lineOf(trace.steps[end][1]) : "";
  let start = end;
  while (start > 0 && lineOf(trace.steps[start - 1][1]) === line) --start;
  return start;
}
const MOVES = {
  forward: () => at + 1, back: () => at - 1, line: () => lineStep(1), "line-back": () => lineStep(-1),
  first: () => 0, last: () => trace.steps.length - 1, barrier: () => seek(1, isBarrier), "barrier-back": () => seek(-1, isBarrier),
  focus: () => trace.focusAt, other: () => first < 0 ? at : first, far: () => at + 100, "far-back": () => at - 100,
};
const KEYS = { ArrowRight: "forward", ArrowLeft: "back", ArrowDown: "line", ArrowUp: "line-back", Home: "first", End: "last", b: "barrier", B: "barrier-back", f: "focus", o: "other", PageDown: "far", PageUp: "far-back" };
const MARKED = ["focus", "other"];
const moveBy = (id) => (MARKED.includes(id) ? toLane : go)(MOVES[id]());
for (const id of Object.keys(MOVES)) byId(id)?.addEventListener("click", () => moveBy(id));
document.addEventListener("keydown", (event) => {
  const move = KEYS[event.key];
  if (!move || event.ctrlKey || event.altKey || event.metaKey || event.target.tagName === "SELECT") return;
  event.preventDefault();
  moveBy(move);
});
// A menu keeps the keys to itself only while it is open.
for (const select of document.querySelectorAll("select")) select.addEventListener("change", () => select.blur());
byId("slider").addEventListener("input", (event) => go(Number(event.target.value)));
byId("file").append(...data.files.map((each, number) => element("option", { value: number }, each.name || data.shader)));
byId("file").addEventListener("change", (event) => { fileChosen(Number(event.target.value)); shown(); });
byId("watch").addEventListener("change", shown);
byId("memories").addEventListener("change", () => { follows = false; memoryShown(); });
byId("shader").textContent = data.shader;
byId("made").textContent = `Made by vkgroup ${data.vkgroup}`;
byId("keys").append(...[["active", "executes this"], ["active yes", "true"], ["waiting", "waits after line ‖"], ["ended", "has ended"], ["undefined", "undefined, also by a race", "?"]].map(([kind, words, sign]) => element("span", {}, element("i", { class: `cell ${kind}` }, sign ?? ""), words)));
byId("trace").append(...traces.map((each, number) => element("option", { value: number }, each.message ? `${number + 1} of ${traces.length}: ${each.title}, ${lineName(each.marked[0]?.[0] ?? each.position)}, ${each.setting}` : each.setting)));
byId("choice").hidden = traces.length < 2;
byId("trace").addEventListener("change", (event) => { rows = []; traceChosen(Number(event.target.value)); });
traceChosen(0);
document.documentElement.dataset.ready = "yes";
