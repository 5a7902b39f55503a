// A subgroup drawn as a table: a column for each lane; what was wrong stands in a marked cell.

const ROW_NAMES = { input: "input", operand: "operand", expected: "expected", got: "got" };

function lanesDrawn(drawing) {
  const { size, active, wrong, rows, partial } = drawing;
  const mask = active === null ? null : BigInt(active);
  const isActive = (lane) => mask === null || (mask >> BigInt(lane)) & 1n;
  const isWrong = new Set(wrong);
  const longest = Math.max(...Object.values(rows).flat().map((text) => (text ?? "").length), 1);
  const columns = longest > 40 ? 4 : longest > 14 ? 8 : 16;
  const chunks = [];
  const told = (start) => Object.values(rows).some((row) => row.slice(start, start + columns).some((text) => text !== null));
  for (let start = 0; start < size; start += columns) {
    if (partial && !told(start)) continue;
    const chunk = chunkDrawn(drawing, start, Math.min(size, start + columns), isActive, isWrong);
    chunk.style.setProperty("--cell", `${Math.min(longest, 15) + 1}ch`);
    chunks.push(chunk);
  }
  const words = `${drawing.where}${drawing.slot ? `, place ${drawing.slot} in the shader` : ""}: `
    + `${some(size, "lane")}, active mask ${active ?? "not recorded"}, wrong: `
    + `${wrong.length > 1 ? "lanes" : "lane"} ${wrong.join(", ")}`;
  return element("figure", { class: "lanes" },
    element("figcaption", {}, words, partial
      && element("span", { class: "faint" }, " (read from the words of an older run: other lanes were not recorded)")),
    stripDrawn(size, isActive, isWrong),
    scrolled("The subgroup, lane by lane", element("div", {}, chunks)));
}

function stripDrawn(size, isActive, isWrong) {
  const cells = Array.from({ length: size }, (_, lane) => element("i", {
    class: isWrong.has(lane) ? "wrong" : isActive(lane) ? "active" : "inactive", title: `lane ${lane}`,
  }, isWrong.has(lane) ? "✗" : ""));
  return element("div", { class: "strip", "aria-hidden": "true" }, cells,
    element("span", { class: "key" }, element("i", { class: "active" }), " active ",
      element("i", { class: "inactive" }), " inactive ", element("i", { class: "wrong" }, "✗"), " wrong"));
}

function chunkDrawn({ rows, size, partial }, start, end, isActive, isWrong) {
  const numbers = Array.from({ length: end - start }, (_, index) => start + index);
  const head = element("tr", {}, element("th", { scope: "row" }, "lane"), numbers.map((lane) =>
    element("th", { scope: "col", class: isWrong.has(lane) ? "wrong" : null }, String(lane),
      isWrong.has(lane) && element("span", { class: "cross" }, " ✗", element("span", { class: "unseen" }, " wrong")))));
  const active = element("tr", {}, element("th", { scope: "row" }, "active"), numbers.map((lane) =>
    element("td", { class: isActive(lane) ? "on" : "off" }, isActive(lane) ? "1" : "0")));
  const lines = Object.keys(ROW_NAMES).filter((name) => rows[name]).map((name) =>
    element("tr", { class: name }, element("th", { scope: "row" }, ROW_NAMES[name]), numbers.map((lane) =>
      laneCell(name, rows[name][lane], isActive(lane), isWrong.has(lane), partial))));
  return element("table", { class: "lane-table" },
    element("caption", { class: "unseen" }, `Lanes ${start} to ${end - 1} of ${size}`),
    element("thead", {}, head), element("tbody", {}, active, lines));
}

function laneCell(name, text, active, wrong, partial) {
  const styles = [active ? "" : "off", wrong && name === "got" ? "wrong" : "", wrong && name === "expected" ? "wanted" : ""];
  const missing = !active ? "·" : partial ? "?" : name === "expected" ? "any" : "·";
  return element("td", { class: styles.join(" ").trim() || null }, text ?? element("span", { class: "faint" }, missing));
}
