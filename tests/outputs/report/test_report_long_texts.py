"""Long texts are cut in the elements of a report, with a button for the rest."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

from playwright._impl._driver import compute_driver_executable

import vkgroup.outputs.report

SCRIPTS = Path(vkgroup.outputs.report.__file__).parent / "script"

DOCUMENT = """
class Element {
  constructor(tag) { this.tag = tag; this.attributes = {}; this.children = []; this.listeners = {}; }
  setAttribute(name, value) { this.attributes[name] = value; }
  addEventListener(name, call) { this.listeners[name] = call; }
  append(...children) { for (const child of children) { if (child instanceof Element) child.parent = this; }
    this.children.push(...children); }
  replaceWith(other) { const all = this.parent.children; all[all.indexOf(this)] = other; }
  get text() { return this.children.map((child) => child instanceof Element ? child.text : child).join(""); }
}
globalThis.document = { createElement: (tag) => new Element(tag) };
"""
"""The part of the document object model that `dom.js` needs to make elements."""


def result_of(script: str) -> object:
    """Return what a script returns after `dom.js`; Playwright's Node.js runs it without a browser."""
    node = compute_driver_executable()[0]
    call = f"console.log(JSON.stringify((() => {{{script}}})()));"
    whole = "\n".join([DOCUMENT, (SCRIPTS / "dom.js").read_text(), call])
    done = subprocess.run([node, "-e", whole], capture_output=True, text=True, check=True)
    result: object = json.loads(done.stdout)
    return result


def test_long_texts_have_a_button_for_the_rest() -> None:
    script = """
        const cell = element("td", { title: "y".repeat(300000) }, "x".repeat(300000));
        const [start, more] = cell.children;
        const before = [start.length, more.tag, more.text, cell.attributes.title.length];
        more.listeners.click();
        return [...before, cell.text === "x".repeat(300000), cell.children.length];
    """
    shown = "… show all 300,000 characters"
    assert result_of(script) == [2000, "button", shown, 2001, True, 2]


def test_links_are_cut_without_a_button() -> None:
    script = """return ["a", "option"].map((tag) => element(tag, {}, "x".repeat(300000)).children)"""
    assert result_of(script) == [["x" * 2000 + "…"], ["x" * 2000 + "…"]]


def test_short_texts_and_code_are_whole() -> None:
    script = """
        const parts = [["td", "x".repeat(2000)], ["pre", "x".repeat(20000)], ["td", 5]];
        const made = parts.map(([tag, text]) => element(tag, {}, text));
        return made.map((one) => [one.children.length, one.text.length]);
    """
    assert result_of(script) == [[1, 2000], [1, 20000], [1, 1]]


def test_no_character_is_split() -> None:
    script = """const [start, more] = element("td", {}, "x".repeat(1999) + "😀".repeat(9)).children;
        more.parent.children[1].listeners.click();
        return [start.length, more.parent.children[1]];"""
    assert result_of(script) == [1999, "😀" * 9]
