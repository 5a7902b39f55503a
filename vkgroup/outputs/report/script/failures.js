// Failures by operation: of each kind one is shown whole, and all are links.

const GROUPS_A_PAGE = 40;
const LINKS_A_PAGE = 60;

function failureGroups() {
  const groups = new Map();
  for (const block of shown.blocks) {
    for (let index = 0; index < block.statuses.length; index++) {
      if (!AGAINST.includes(block.statuses[index])) continue;
      const key = [block.category, block.stage, block.operation].join("\n");
      if (!groups.has(key)) groups.set(key, []);
      groups.get(key).push(caseAt(block, index));
    }
  }
  return [...groups].sort((a, b) => b[1].length - a[1].length);
}

function failuresShown() {
  const groups = failureGroups();
  const total = groups.reduce((all, [, members]) => all + members.length, 0);
  const body = bodyOf("failures");
  if (!total) {
    body.replaceChildren(element("p", { role: "status" }, "No case is against the device."));
    return;
  }
  body.replaceChildren(element("p", { role: "status", class: "count" },
    `${some(total, "case")} against the device, in ${some(groups.length, "operation and stage", "operations and stages")}`),
  paged(groups, GROUPS_A_PAGE, (some_) => element("div", {}, some_.map(groupShown)), "Pages of failures"));
  const first = body.querySelector("details");
  if (first) first.open = true;
}

function groupShown([key, members]) {
  // Another run may be shown by the time that the details are opened.
  const run = shown;
  const [category, stage, operation] = key.split("\n");
  const place = [category, stage === "–" ? "" : stage].filter(Boolean).join(" · ").replaceAll("_", " ");
  const details = element("details", { class: "group" }, element("summary", {}, badge(members[0].status), " ",
    element("strong", {}, operation), ` ${place} `, element("span", { class: "count" }, some(members.length, "case"))));
  const fill = () => {
    if (details.childElementCount > 1) return;
    const example = members.find((one) => run.failures[one.name]?.lanes) ?? members[0];
    details.append(element("div", { class: "inside" },
      element("h3", {}, element("a", { href: caseLink(example.name, run) }, example.name)),
      failureShown(run.failures[example.name], causeOf(run, example.name)),
      members.length > 1 && element("div", { class: "all" }, element("h4", {}, `All ${number(members.length)}`),
        paged(members, LINKS_A_PAGE, (some_) => element("ul", { class: "links" }, some_.map((one) =>
          element("li", {}, element("a", { href: caseLink(one.name, run) }, one.name)))), "Pages of cases"))));
  };
  details.fill = fill;
  details.addEventListener("toggle", () => { if (details.open) fill(); });
  return details;
}
