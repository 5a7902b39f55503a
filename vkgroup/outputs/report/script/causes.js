// Causes of the failures of a run: new ones first, then known errors of the driver.

function causesShown() {
  const causes = shown.causes;
  const body = bodyOf("causes");
  if (!causes.length) {
    body.replaceChildren(element("p", { role: "status" }, "No case is against the device."));
    return;
  }
  const fresh = causes.filter((cause) => !cause.known).length;
  const known = causes.length - fresh;
  body.replaceChildren(
    element("p", { role: "status", class: "count" },
      `${some(fresh, "new cause")}, ${some(known, "known cause")}; ${some(causes.reduce((all, cause) => all + cause.cases.length, 0), "failed case")}`),
    ...causes.map((cause, index) => causeShown(cause, index)));
}

const inline = (text) => String(text ?? "").split("`").map((part, index) => (index % 2 ? element("code", {}, part) : part));

function causeShown(cause, index) {
  const run = shown;
  const more = element("details", {}, element("summary", {}, `All ${some(cause.cases.length, "case")}`));
  more.addEventListener("toggle", () => {
    if (!more.open || more.childElementCount > 1) return;
    more.append(paged(cause.cases, LINKS_A_PAGE, (names) => element("ul", { class: "links" }, names.map((name) =>
      element("li", {}, run.blocks.length ? element("a", { href: caseLink(name, run) }, name) : name))), "Pages of cases"));
  });
  const failure = run.failures[cause.smallest];
  return element("article", { class: `cause ${cause.known ? "known" : "new"}`, id: `cause-${run.index}-${index}`, tabindex: -1 },
    element("h2", {}, element("span", { class: "tag" }, cause.known ? `known since ${cause.since}` : "new"), " ", inline(cause.title)),
    element("dl", {},
      element("dt", {}, "Cases"), element("dd", {}, inline(cause.sentence)),
      element("dt", {}, "Explanation"), element("dd", {}, inline(cause.explanation)),
      ruleShown(cause.rule && { ...cause.rule, strength: data.strengths[cause.rule.strength] ?? cause.rule.strength }),
      element("dt", {}, "Smallest case"), element("dd", {}, element("a", { href: caseLink(cause.smallest, run) }, cause.smallest)),
      element("dt", {}, "Result"), element("dd", { class: "words" }, cause.words)),
    failure?.lanes && lanesDrawn(failure.lanes),
    cause.command && commandOf(cause.command, "the command"),
    more);
}

function causeOf(run, name) {
  const index = run.causes.findIndex((cause) => cause.cases.includes(name));
  return index < 0 ? null : element("p", { class: "its-cause" }, element("strong", {}, "Cause: "),
    element("a", { href: `#cause=${index}&run=${run.index}` }, inline(run.causes[index].title)),
    run.causes[index].known ? "" : " (new)");
}
