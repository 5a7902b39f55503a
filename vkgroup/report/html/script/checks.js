// What `vkgroup check` found in shaders.

const list = (value) => (Array.isArray(value) ? value : []);

function checksShown() {
  bodyOf("checks").replaceChildren(...data.checks.map((check) => element("article", {},
    element("h3", {}, element("code", {}, check.shader)),
    element("p", { class: "count" }, list(check.findings).length ? some(list(check.findings).length, "finding") : "Nothing found",
      coveredWords(check.covered)),
    list(check.findings).map(findingShown))));
}

function coveredWords(covered) {
  if (!covered) return "";
  const sizes = list(covered.sizes).length ? ` at subgroup sizes ${list(covered.sizes).join(", ")}` : "";
  const devices = list(covered.devices).length ? `; on ${list(covered.devices).join(", ")}` : "";
  return `. Ran${sizes}${devices}.`;
}

function findingShown(finding) {
  const notes = list(finding.notes);
  const seen = [list(finding.sizes).length && `subgroup size ${finding.sizes.join(", ")}`, ...list(finding.devices)].filter(Boolean);
  const example = finding.invocation;
  const facts = [
    ...notes.filter((note) => !note.place?.line).map((note) => note.message),
    seen.length && `seen at ${seen.join("; ")}`,
    example && `for example invocation (${list(example.local).join(", ")}) of workgroup (${list(example.workgroup).join(", ")}): lane ${example.lane} of subgroup ${example.subgroup}`,
  ].filter(Boolean);
  return element("section", { class: "finding", "aria-label": `${finding.kind}: ${finding.message}` },
    element("h4", {}, element("span", { class: "badge fail" }, finding.kind), " ", finding.message),
    placesShown([{ message: "", place: finding.place }, ...notes.filter((note) => note.place?.line)]),
    list(finding.values).length > 0 && scrolled("Values", tableOf(`What ${finding.element} becomes`, ["where", "value"],
      finding.values.map(([where, value]) => element("tr", {}, element("td", {}, where.device || `size ${where.subgroup_size}${where.shuffled ? ", lanes shuffled" : ""}`),
        element("td", {}, element("code", {}, String(value))))))),
    element("ul", {}, facts.map((fact) => element("li", {}, fact))),
    finding.command && commandOf(finding.command, "the command"));
}

function placesShown(places) {
  return places.filter(({ place }) => place).map(({ message, place }, index) => element("div", { class: "quote" },
    element("div", { class: "where" }, place.file ? `${place.file}:${place.line}` : "in the module", message && ` — ${message}`),
    element("pre", { tabindex: 0 }, element("code", {}, element("span", { class: index ? "line" : "line marked" },
      place.line ? element("span", { class: "number" }, String(place.line)) : null, place.text)))));
}
