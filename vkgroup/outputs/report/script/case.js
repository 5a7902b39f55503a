// One case: its verdict, and of a failure the words, the lanes, the shader and the command.

function ruleShown(rule) {
  return rule ? [element("dt", {}, "Required"), element("dd", {}, element("q", {}, rule.quote),
    ` (${rule.document}; ${rule.strength})`)] : [];
}

function failureShown(failure, cause) {
  const lines = failure.words.split("\n");
  // Of what is drawn the first words say enough; a quoted shader keeps its own lines.
  const said = failure.lanes || lines.some((line) => /^[ >] /.test(line)) ? 1 : lines.length;
  const rule = failure.rule === undefined ? null : data.rules[failure.rule];
  const parts = [
    element("dl", { class: "verdict" },
      failure.sentence && [element("dt", {}, "Tested"), element("dd", { class: "sentence" }, failure.sentence)],
      ruleShown(rule),
      element("dt", {}, "Found"), element("dd", { class: "words" }, lines.slice(0, said).join("\n"))),
    cause,
    failure.lanes && lanesDrawn(failure.lanes),
  ].filter(Boolean);
  const rest = lines.slice(said).join("\n");
  if (rest) {
    parts.push(element("details", { open: !failure.lanes }, element("summary", {}, "In the run's words"),
      element("pre", { tabindex: 0 }, rest)));
  }
  if (failure.command) parts.push(element("h4", {}, "Repeat it"), commandOf(failure.command, "the command"));
  if (failure.shader !== undefined) parts.push(shaderShown(failure, true));
  return parts;
}

function shaderShown({ shader, marked }, open) {
  const lines = data.shaders[shader];
  const first = marked.length ? `, line ${marked.join(", ")}` : "";
  return unfolded(open, `The shader${first} (${some(lines.length, "line")})`, () => shaderLines(lines, new Set(marked)), { class: "source" });
}

function shaderLines(lines, called) {
  const code = element("pre", { class: "shader", tabindex: 0 }, element("code", {}, lines.map((line, index) => {
    const isCalled = called.has(index + 1);
    return element("span", { class: isCalled ? "line marked" : "line" }, element("span", { class: "unseen" }, isCalled ? "here: " : ""),
      element("span", { class: "number", "aria-hidden": "true" }, `${isCalled ? "▶ " : ""}${index + 1}`),
      coloured(data.lines[line], data.colours[line]), "\n");
  })));
  // The line that matters is seen first, wherever in the shader it is.
  requestAnimationFrame(() => {
    const line = code.querySelector(".marked");
    if (line) code.scrollTop = Math.max(0, line.offsetTop - code.clientHeight / 3);
  });
  return code;
}

// `colours`: pieces of the line, each as the letter of its class and its length; the rest is plain.
function coloured(text, colours) {
  let at = 0;
  const pieces = [...colours.matchAll(/([a-z-])(\d+)/g)].map(([, letter, length]) => {
    const piece = text.slice(at, at += Number(length));
    return letter === "-" ? piece : element("span", { class: `code-${letter}` }, piece);
  });
  return [...pieces, text.slice(at)];
}

let leaving = "#cases";

function openCase(name, runIndex) {
  const dialog = byId("case");
  const run = runs[runIndex] ?? shown;
  const found = run && caseNamed(run, name);
  const title = element("h2", { id: "case-title", tabindex: -1 }, name);
  const close = element("button", { type: "button", class: "close", onclick: () => dialog.close() }, "Close");
  const failure = run?.failures[name];
  const content = found ? caseShown(found, run) : failure ? failureShown(failure, causeOf(run, name)) : [element("p", {}, "No run in this report has a case of that name.")];
  dialog.replaceChildren(element("div", { class: "dialog-head" }, title, close), ...content);
  if (!dialog.open) dialog.showModal();
  title.focus();
}

function caseShown(found, run) {
  const facts = [element("p", { class: "facts" }, badge(found.status), ` on ${runName(run)} · `,
    `${some(found.defined, "lane")} judged, ${number(found.undefinedLanes)} undefined`)];
  const others = withCases.filter((other) => other !== run).map((other) => [other, caseNamed(other, found.name)])
    .filter(([, there]) => there);
  if (others.length) {
    facts.push(element("ul", { class: "others" }, others.map(([other, there]) => element("li", {}, badge(there.status), " ",
      element("a", { href: caseLink(found.name, other) }, `on ${runName(other)}`)))));
  }
  if (found.note) facts.push(element("p", { class: "words" }, found.note));
  const failure = run.failures[found.name];
  return failure ? [...facts, ...failureShown(failure, causeOf(run, found.name))] : facts;
}
