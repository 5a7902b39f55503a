// A subgroup drawn: sets of lanes as strips, and a table with a column for each lane; what is wrong is marked.

const KNOWN_ROWS = ["input", "operand", "expected", "got", "hypothesis"];
const MOST_NAMED = 12;

function lanesDrawn(drawing) {
  const { size, active, wrong, rows } = drawing;
  const names = drawing.names ?? Array.from({ length: size }, (_, lane) => String(lane));
  const isIn = (mask) => { const bits = BigInt(mask); return (lane) => Boolean((bits >> BigInt(lane)) & 1n); };
  const cells = {
    rows, names, size,
    unit: drawing.unit ?? "lane",
    known: active !== null,
    isActive: active === null ? () => true : isIn(active),
    wrong: new Set(wrong),
    // What is not compared with anything is wrong as a whole, which its last row stands for.
    judged: rows.got ? "got" : Object.keys(rows).at(-1),
  };
  const longest = Math.max(...Object.values(rows).flat().map((text) => (text ?? "").length), 1);
  const columns = longest > 40 ? 4 : longest > 5 ? 8 : 16;
  const chunks = [];
  for (let start = 0; start < size; start += columns) {
    const chunk = chunkDrawn(cells, start, Math.min(size, start + columns));
    chunk.style.setProperty("--cell", `${Math.min(longest, 15) + 1}ch`);
    chunks.push(chunk);
  }
  return element("figure", { class: "lanes" },
    element("figcaption", {}, lanesWords(drawing, cells)),
    stripsDrawn(drawing, cells, isIn),
    scrolled(cells.unit === "lane" ? "The subgroup, lane by lane" : "What is wrong, and what is around it",
      element("div", {}, chunks)));
}

function lanesWords({ where, slot, active, wrong, masks }, { size, unit, names }) {
  const isLane = unit === "lane";
  const units = wrong.length > 1 && !unit.includes(" ") ? `${unit}s` : unit;
  const listed = wrong.length > MOST_NAMED ? `${wrong.length} of ${size}`
    : `${units} ${wrong.map((lane) => names[lane]).join(", ")}`;
  const facts = [
    isLane && some(size, "lane"),
    isLane && (active !== null || !masks) && `active mask ${active ?? "not recorded"}`,
    wrong.length > 0 && `wrong: ${listed}`,
  ].filter(Boolean).join(", ");
  const place = [where, slot && `place ${slot} in the shader`].filter(Boolean).join(", ");
  return [place, facts].filter(Boolean).join(isLane ? ": " : ", ");
}

// Sets of lanes under each other, so that one sees who is in one and not in another.
function stripsDrawn(drawing, { size, unit, known, isActive, wrong }, isIn) {
  const masks = drawing.masks ?? [];
  if (unit !== "lane" || (!known && !masks.length)) return null;
  const nobody = () => false;
  const rows = [
    known && stripDrawn("active", drawing.active, size, isActive, masks.length ? nobody : (lane) => wrong.has(lane)),
    ...masks.map((one) => stripDrawn(one.name, one.mask, size, isIn(one.mask), isIn(one.wrong))),
  ].filter(Boolean);
  const [inside, outside] = masks.length ? ["in the mask", "not in it"] : ["active", "inactive"];
  const bad = masks.length ? "wrongly in it, or missing" : "wrong";
  return element("div", { class: "strips" },
    scrolled("Sets of lanes", element("div", { class: "stack" }, rows)),
    element("div", { class: "keys", "aria-hidden": "true" },
      [["active", inside], ["inactive", outside], ["wrong", bad]].map(([kind, words]) =>
        element("span", {}, element("i", { class: kind }, kind === "wrong" ? "✗" : ""), words))));
}

function stripDrawn(name, mask, size, isIn, isWrong) {
  const lanes = Array.from({ length: size }, (_, lane) => lane);
  const cells = lanes.map((lane) => element("i", {
    class: [isWrong(lane) ? "wrong" : "", isIn(lane) ? "active" : "inactive"].join(" ").trim(),
    title: `lane ${lane}: ${isIn(lane) ? "yes" : "no"}`,
  }, isWrong(lane) ? "✗" : ""));
  const bad = lanes.filter(isWrong);
  return element("div", { class: "strip" },
    element("span", { class: "name" }, name, " ", element("code", {}, mask),
      bad.length > 0 && element("span", { class: "unseen" }, `, wrong: ${bad.join(", ")}`)),
    element("span", { class: size > 64 ? "cells many" : "cells", "aria-hidden": "true" }, cells));
}

function chunkDrawn(cells, start, end) {
  const { rows, size, names, unit, known, isActive, wrong } = cells;
  const numbers = Array.from({ length: end - start }, (_, index) => start + index);
  const head = element("tr", {}, element("th", { scope: "row" }, unit), numbers.map((lane) =>
    element("th", { scope: "col", class: wrong.has(lane) ? "wrong" : null }, names[lane],
      wrong.has(lane) && element("span", { class: "cross" }, " ✗", element("span", { class: "unseen" }, " wrong")))));
  const active = known && element("tr", {}, element("th", { scope: "row" }, "active"), numbers.map((lane) =>
    element("td", { class: isActive(lane) ? "on" : "off" }, isActive(lane) ? "1" : "0")));
  const more = Object.keys(rows).filter((name) => !KNOWN_ROWS.includes(name));
  const lines = [...more, ...KNOWN_ROWS.filter((name) => rows[name])].map((name) =>
    element("tr", { class: KNOWN_ROWS.includes(name) ? name : null }, element("th", { scope: "row" }, name),
      numbers.map((lane) => laneCell(name, lane, cells))));
  return element("table", { class: "lane-table" },
    element("caption", { class: "unseen" }, `${names[start]} to ${names[end - 1]} of ${size}`),
    element("thead", {}, head), element("tbody", {}, active, lines));
}

function laneCell(name, lane, { rows, isActive, wrong, judged }) {
  const isBad = wrong.has(lane);
  const styles = [isActive(lane) ? "" : "off", isBad && name === judged ? "wrong" : "", isBad && name === "expected" ? "wanted" : ""];
  const open = name === "expected" && (rows.got?.[lane] ?? null) !== null;
  const missing = !isActive(lane) ? "·" : open ? "any" : "·";
  return element("td", { class: styles.join(" ").trim() || null },
    rows[name][lane] ?? element("span", { class: "faint" }, missing));
}
