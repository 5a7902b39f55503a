// Devices side by side.

const LONG_SECTIONS = new Set(["Features", "Extensions", "Limits of OpenGL (ARB_compute_shader)"]);
const capabilityState = { q: "", different: false };

function capabilitiesBuilt() {
  const { columns } = data.capabilities;
  const search = element("input", { type: "search", placeholder: "a capability, as in “shuffle”" });
  search.addEventListener("input", () => { capabilityState.q = search.value.toLowerCase(); capabilitiesShown(); });
  bodyOf("capabilities").replaceChildren(element("div", { class: "controls" }, labelled("Search", search),
    columns.length > 1 && checkbox("only what differs", false, (on) => { capabilityState.different = on; capabilitiesShown(); })),
  element("p", { id: "capability-count", role: "status", class: "count" }), element("div", { id: "capability-list" }));
  capabilitiesShown();
}

function capabilitiesShown() {
  const { columns, places, sections } = data.capabilities;
  let count = 0;
  const parts = [];
  for (const [title, rows] of sections) {
    const kept = rows.filter(([label, cells, differs]) => (!capabilityState.different || differs)
      && (!capabilityState.q || [title, label, ...cells].some((text) => text?.toLowerCase().includes(capabilityState.q))));
    count += kept.length;
    if (!kept.length) continue;
    const table = capabilityTable(title, columns, places, kept);
    const narrowed = capabilityState.q || capabilityState.different;
    parts.push(LONG_SECTIONS.has(title)
      ? element("details", { open: Boolean(narrowed) && kept.length < 60 }, element("summary", {}, `${title} (${number(kept.length)})`), table)
      : table);
  }
  byId("capability-count").textContent = some(count, "line");
  byId("capability-list").className = columns.length > 1 ? "" : "beside";
  byId("capability-list").replaceChildren(...parts);
}

function capabilityTable(title, columns, places, rows) {
  const heads = [["name", ([label]) => label], ...columns.map((name, index) => [
    [name, columns.indexOf(name) !== columns.lastIndexOf(name) && element("small", {}, ` ${places[index]}`)],
    ([, cells]) => cells[index]])];
  return sortable(title, heads, rows, ([label, cells, differs]) =>
    element("tr", { class: differs ? "differs" : null },
      element("th", { scope: "row" }, label, differs && element("span", { class: "mark", title: "the devices differ" }, " ≠",
        element("span", { class: "unseen" }, " differs"))),
      cells.map((text) => element("td", { class: text === "no" || text === null ? "lacking-text" : null },
        text ?? "not recorded"))), { caption: title, attributes: { class: "capabilities" } });
}
