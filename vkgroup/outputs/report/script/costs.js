// What `vkgroup cost` printed: a table for each driver, with a bar in each cell.

function costsShown() {
  bodyOf("costs").replaceChildren(element("p", { class: "faint" },
    "Nothing was executed: the drivers' compilers report these numbers. Bars compare the rows and shaders of one table; drivers count differently."),
    ...data.costs.map((cost) => element("article", {},
    element("h3", {}, element("code", {}, cost.shader)),
    cost.against && element("p", { class: "legend" }, [cost.shader, cost.against].map((name, side) =>
      element("span", {}, element("span", { class: `bar side-${side}`, "aria-hidden": "true" }), " ", element("code", {}, name)))),
    cost.drivers.map((driver) => driverCostsShown(driver, cost)))));
}

// Bars compare rows and shaders within one table: units differ between drivers.
function driverCostsShown(driver, cost) {
  const names = [cost.shader, cost.against];
  const heads = driver.quantities.map((quantity, index) => [quantity.title, (row) => row.sides[0].values[index],
    element("small", { class: "unit" }, [quantity.unit, quantity.more_is_better && "more is better"].filter(Boolean).join("; "))]);
  const kinds = driver.rows.some((row) => row.sides.some((side) => side.kinds));
  const columns = driver.quantities.length + (kinds ? 1 : 0);
  const caption = [driver.name, driver.versions.length > 0 && element("small", {}, ` ${driver.versions.join(", ")}`)];
  return sortable(`Costs on ${driver.name}`, [["GPU", (row) => row.gpu], ["subgroup size", (row) => row.size], ...heads,
    ...(kinds ? [["instructions of subgroups, shared memory, barriers", null]] : [])], driver.rows, (row) => element("tr", {},
      element("th", { scope: "row" }, row.gpu, row.generation && element("small", {}, ` ${row.generation}`)),
      element("td", { class: "amount" }, row.size ? String(row.size) : "–"),
      row.sides.every((side) => side.status)
        ? element("td", { colspan: columns }, differentSides(row.sides).map(statusShown))
        : costCells(row, driver, names, kinds)),
  { caption, attributes: { class: "costs" } });
}

function costCells(row, driver, names, kinds) {
  const cells = driver.quantities.map((quantity, index) => element("td", {}, row.sides.map((side, number) =>
    side.status ? index === 0 && statusShown(side) : barShown(side.values[index], quantity.most, number, row.sides.length > 1 ? names[number] : ""))));
  if (kinds) cells.push(element("td", { class: "kinds" }, row.sides.map((side) => element("div", {}, side.kinds))));
  return cells;
}

// Both shaders often fail for the same reason, such as a device that cannot be opened.
const differentSides = (sides) => sides.filter((side, index) =>
  sides.findIndex((other) => other.status === side.status && other.detail === side.detail) === index);

const statusShown = (side) => element("div", {}, element("span", { class: side.status === "NotSupported" ? "badge lacking" : "badge fail" }, side.status),
  " ", element("span", { class: "words" }, side.detail));

function barShown(value, most, side, name) {
  if (value === null) return element("div", { class: "measure faint" }, "–");
  const bar = element("span", { class: `bar side-${side}`, "aria-hidden": "true" });
  bar.style.setProperty("--share", most > 0 ? value / most : 0);
  return element("div", { class: "measure", title: name && `${name}: ${number(value)}` }, element("span", { class: "amount" }, number(value)), bar);
}
