// What `vkgroup check` found in shaders.

function checksShown() {
  bodyOf("checks").replaceChildren(...data.checks.map((check) => element("article", {},
    element("h3", {}, element("code", {}, check.shader)),
    element("p", { class: "count" }, check.findings.length ? some(check.findings.length, "finding") : "Nothing found",
      coveredWords(check.covered)),
    check.findings.map(findingShown))));
}

function coveredWords(covered) {
  const sizes = covered.sizes.length ? ` at subgroup sizes ${covered.sizes.join(", ")}` : "";
  const devices = covered.devices.length ? `; on ${covered.devices.join(", ")}` : "";
  return `. Ran${sizes}${devices}.`;
}

function findingShown(finding) {
  const { notes } = finding;
  const seen = [finding.sizes.length && `subgroup size ${finding.sizes.join(", ")}`, ...finding.devices].filter(Boolean);
  const facts = [
    ...notes.filter((note) => !note.place?.line).map((note) => note.message),
    seen.length && `seen at ${seen.join("; ")}`,
    finding.example,
  ].filter(Boolean);
  return element("section", { class: "finding", "aria-label": `${finding.kind}: ${finding.message}` },
    element("h4", {}, element("span", { class: "badge fail" }, finding.kind), " ", finding.message),
    placesShown([{ message: "", place: finding.place }, ...notes.filter((note) => note.place?.line)]),
    finding.values.length > 0 && scrolled("Values", tableOf(`What ${finding.element} becomes`, ["where", "value"],
      finding.values.map(([where, value]) => element("tr", {}, element("td", {}, where),
        element("td", {}, element("code", {}, value)))))),
    element("ul", {}, facts.map((fact) => element("li", {}, fact))),
    finding.command && commandOf(finding.command, "the command"));
}

function placesShown(places) {
  return places.filter(({ place }) => place).map(({ message, place }, index) => element("div", { class: "quote" },
    element("div", { class: "where" }, place.file ? `${place.file}:${place.line}` : "in the module", message && ` — ${message}`),
    element("pre", { tabindex: 0 }, element("code", {}, element("span", { class: index ? "line" : "line marked" },
      place.line ? element("span", { class: "number" }, String(place.line)) : null, coloured(place.text, place.colours))))));
}
