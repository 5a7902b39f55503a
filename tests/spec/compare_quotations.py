"""Compare the quotations of `vkgroup.spec` with published documents.

    python tests/spec/compare_quotations.py KHR_shader_subgroup.txt Vulkan-Docs SPIRV-Registry SPIRV.html

Each argument is the reader's own copy: a text of a GLSL or SPIR-V extension, a checkout of Vulkan-Docs or of
SPIRV-Registry, or an HTML page of SPIR-V (SPIRV.html, GLSL.std.450.html). It prints each quotation that is
not in the text of its document, and how many quotations no argument has.
"""

from __future__ import annotations

import argparse
import html
import re
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from vkgroup.spec import rules, sentences

_MACROS = "code pname ename sname fname flink slink elink tname dname dlink tlink reflink apiext"
_WORDS = "must may can should cannot required optional optionally undefined"


def plain(text: str) -> str:
    """Return text in one line, without marks of AsciiDoc and HTML, and with the text of all extensions."""
    text = re.sub(r"^ifdef::[^\[\]]*\[(.+)\]$", r"\1", text, flags=re.MULTILINE)
    text = re.sub(r"^ifndef::([^\[]*)\[\]\n.*?^endif::\1\[\]$", "", text, flags=re.MULTILINE | re.DOTALL)
    text = re.sub(r"^(ifdef|ifndef|endif|ifeval)::.*$", "", text, flags=re.MULTILINE)
    text = re.sub(r"<<[^,>]*,\s*([^>]*)>>", r"\1", text)
    text = re.sub(r"<<(?:limits-|features-)?([^>]*)>>", r"\1", text)
    if "<html" in text:
        text = html.unescape(re.sub(r"</?[A-Za-z][^>]*>", "", text))
    text = re.sub(rf"\b({_WORDS.replace(' ', '|')}):(?!:)", r"\1", text)
    text = re.sub(rf"\b({_MACROS.replace(' ', '|')}):", " ", text)
    text = re.sub(r"\[eq\]#([^#]*)#", r"\1", text)
    text = re.sub(r"\[\[[^\]]*\]\]", "", text)
    text = re.sub(r"\{(\w+)\}", r"\1", text)
    text = re.sub(r"(?<!\w)'([^']*)'(?!\w)", r"\1", text)  # emphasis
    text = re.sub(r"[*_`+^|~#\"“”]|\bplus\b", "", text.replace("×", "times").replace("’", "'"))
    # Spaces of a line that was joined, and those that a removed macro leaves.
    return re.sub(r"(?<=[(\[]) | (?=[.,;:)\]])|(?<=,) (?=\w+-1\])", "", " ".join(text.split()))


def texts_of(path: Path) -> dict[str, str]:
    """Return the texts that a file or a checkout has, by the name of the document."""
    if path.is_file():
        name = {"SPIRV": "SPIR-V"}.get(path.stem, path.stem)
        return {name: plain(path.read_text("utf-8"))}
    chapters = [*path.glob("chapters/**/*.adoc"), *path.glob("appendices/**/*.adoc")]
    texts = {file.stem: plain(file.read_text("utf-8")) for file in path.glob("extensions/*/*.asciidoc")}
    if chapters:
        texts["Vulkan"] = " ".join(plain(file.read_text("utf-8")) for file in chapters)
    return texts


def quotations() -> Iterator[tuple[str, str, str]]:
    """Yield document, name and words of each quotation."""
    for name, row in sentences.SENTENCES.items():
        yield row.document.name, name, row.text
    editions = {edition: name for name, edition in rules.DOCUMENTS.items()}
    for name, rule in rules.SENTENCES.items():
        edition = max((one for one in editions if rule.document.startswith(one)), key=len)
        yield editions[edition], name, rule.quote


def main() -> int:
    """Run the command; 0 if every quotation of the documents is in their text."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("documents", type=Path, nargs="+")
    texts: dict[str, str] = {}
    for path in parser.parse_args().documents:
        texts |= texts_of(path)
    found, missing, elsewhere = Counter[str](), 0, Counter[str]()
    for document, name, words in quotations():
        names = (document, f"GL_{document}", f"GLSL_{document}")
        text = next((texts[known] for known in names if known in texts), None)
        if text is None:
            elsewhere[document] += 1
        elif plain(words) in text:
            found[document] += 1
        else:
            missing += 1
            print(f"not in {document}: {name}: {words}")
    for document, count in sorted(found.items()):
        print(f"{document}: {count} found")
    if elsewhere:
        print("no text of", ", ".join(f"{name} ({count})" for name, count in sorted(elsewhere.items())))
    return 1 if missing or not found else 0


if __name__ == "__main__":
    sys.exit(main())
