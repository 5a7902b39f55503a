// Causes of the failures of a run: new ones first and open, then known errors of the driver.

const LINKS_A_PAGE = 60;
// Of more new causes the first are open, so that the list of all stays short.
const MOST_OPEN = 10;

function causesShown() {
  const causes = shown.causes;
  const body = bodyOf("causes");
  if (!causes.length) {
    body.replaceChildren(element("p", { role: "status" }, "No case is against the device."));
    return;
  }
  body.replaceChildren(
    element("p", { role: "status", class: "count" },
      `${causesWords(causes)}; ${some(causes.reduce((all, cause) => all + cause.cases.length, 0), "failed case")}`),
    ...causes.map((cause, index) => causeShown(cause, index)));
}

function causesWords(causes) {
  const fresh = causes.filter((cause) => !cause.known).length;
  return [[fresh, "new cause"], [causes.length - fresh, "known cause"]].filter(([count]) => count)
    .map(([count, words]) => some(count, words)).join(", ");
}

const inline = (text) => String(text ?? "").split("`").map((part, index) => (index % 2 ? element("code", {}, part) : part));

function causeShown(cause, index) {
  const run = shown;
  const title = element("span", { class: "title" }, element("h2", {}, element("span", { class: "tag" },
    cause.known ? `known since ${cause.since}` : "new"), " ", inline(cause.title)),
  element("span", { class: "count" }, some(cause.cases.length, "case")));
  return unfolded(!cause.known && index < MOST_OPEN, title, () => causeInside(cause, run),
    { class: `cause ${cause.known ? "known" : "new"}`, id: `cause-${run.index}-${index}`, tabindex: -1 });
}

function causeInside(cause, run) {
  const failure = run.failures[cause.smallest];
  // Of what is drawn the first words say enough.
  const words = failure?.lanes ? cause.words.split("\n").slice(0, 2).join("\n") : cause.words;
  return [element("dl", {},
    element("dt", {}, "Cases"), element("dd", {}, inline(cause.sentence)),
    element("dt", {}, "Explanation"), element("dd", {}, inline(cause.explanation)),
    ruleShown(cause.rule && { ...cause.rule, strength: data.strengths[cause.rule.strength] ?? cause.rule.strength }),
    element("dt", {}, "Smallest case"), element("dd", {}, element("a", { href: caseLink(cause.smallest, run) }, cause.smallest)),
    element("dt", {}, "Result"), element("dd", { class: "words" }, words)),
  failure?.lanes && lanesDrawn(failure.lanes),
  cause.command && commandOf(cause.command, "the command"),
  failure?.shader !== undefined && shaderShown(failure, false),
  cause.cases.length > 1 && unfolded(false, `All ${some(cause.cases.length, "case")}`, () => paged(cause.cases, LINKS_A_PAGE, (names) =>
    element("ul", { class: "links" }, names.map((name) => element("li", {},
      run.blocks.length ? element("a", { href: caseLink(name, run) }, name) : name))), "Pages of cases"))];
}

function causeOf(run, name) {
  const index = run.causes.findIndex((cause) => cause.cases.includes(name));
  return index < 0 ? null : element("p", { class: "its-cause" }, element("strong", {}, "Cause: "),
    element("a", { href: `#cause=${index}&run=${run.index}` }, inline(run.causes[index].title)),
    run.causes[index].known ? "" : " (new)");
}
