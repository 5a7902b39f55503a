"""Pictures of subgroup operations, drawn from executed shaders.

``make docs`` executes ``docs/pictures/*.comp`` on the reference device and writes
``docs/images/subgroups/*.svg``. Numbers, active lanes and lines are those of the execution. Arrows and bars
lead from each lane whose value changes the result.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby, product
from pathlib import Path

import numpy as np
import numpy.typing as npt
from lane_drawing import ABSENT, ACTIVE, INACTIVE, UNDEFINED, LaneBox, LanePicture

import vkgroup
from vkgroup.check.findings import SourceLocations
from vkgroup.dispatch.reference.device import ReferenceDevice
from vkgroup.outputs.lanes import LaneOperation, lane_operations, number_text
from vkgroup.reference.interpreter.execution.recorder import MOST_STEPS, StepRecorder
from vkgroup.reference.trace import Focus, WorkgroupTrace

ROOT = Path(__file__).parents[2]
SHADERS, PICTURES = ROOT / "docs/pictures", ROOT / "docs/images/subgroups"
VALUES = np.array(json.loads((SHADERS / "inputs.json").read_text("utf-8"))["inputs"]["values"], np.uint32)


class PictureShader:
    """A shader of the pictures at one subgroup size; `results` are those of the last execution."""

    def __init__(self, name: str, size: int = 8) -> None:
        source = (SHADERS / f"{name}.comp").read_text("utf-8")
        self.title = source.splitlines()[1].removeprefix("// ")
        self.module = vkgroup.compile(source, stage="compute", debug=True)
        self.results: npt.NDArray[np.uint32] = np.zeros(20, np.uint32)
        self._has_values = "values[]" in source
        self._device = vkgroup.open(f"reference:{size}")

    def traced(self, values: npt.NDArray[np.uint32] = VALUES) -> WorkgroupTrace:
        """Execute the shader and return its recorded steps."""
        assert isinstance(self._device, ReferenceDevice)
        recorder = StepRecorder(window=(0, MOST_STEPS))
        self._device.observe(recorder)
        given = {"Values": values} if self._has_values else {}
        found = self._device.run(self.module, 1, {**given, "Results": np.zeros(20, np.uint32)})
        self.results = found["Results"]
        return WorkgroupTrace(Focus(), recorder, 0, None, recorder.count)

    def sources(self) -> list[list[frozenset[int]]]:
        """Return for each operation which lanes lead to the results: those whose change changes them."""
        found = [[set[int]() for _ in each.result] for each in lane_operations(self.traced())]
        for base in (VALUES, np.ones_like(VALUES)):
            before = list(lane_operations(self.traced(base)))
            for lane, other in product(range(len(base)), (0, 1001)):  # an even and an odd number
                values = np.where(np.arange(len(base)) == lane, np.uint32(other), base)
                for old, new, lanes in zip(before, lane_operations(self.traced(values)), found, strict=True):
                    for was, is_now, leading in zip(old.result, new.result, lanes, strict=True):
                        if was != is_now and not was.endswith("?"):
                            leading.add(lane)
        return [list(map(frozenset, lanes)) for lanes in found]


def draw_operations(name: str, frames: int = 0) -> str:
    """Draw what each lane gives to the operations of a shader, and what it gets."""
    shader = PictureShader(name)
    picture, described = LanePicture(shader.title), []
    for number, (each, sources) in enumerate(
        zip(lane_operations(shader.traced()), shader.sources(), strict=True)
    ):
        picture.y += 14 if number else 0
        picture.code(each.text, 0 if number else len(each.present))
        _draw_operation(picture, each, sources, frames)
        gives, gets = (_listed(texts) for texts in (each.operands[0], each.result))
        described.append(
            f"{each.text} Lanes {_listed(np.flatnonzero(each.active))} give {gives}; get {gets}."
        )
    return picture.svg(" ".join(described))


def _draw_operation(
    picture: LanePicture, each: LaneOperation, sources: Sequence[frozenset[int]], frames: int
) -> None:
    def row(label: str, texts: Sequence[str]) -> None:
        if texts[0].startswith("("):  # a ballot, which all lanes have
            picture.row(label, [LaneBox(f"uvec4{texts[0]}")], len(texts))
            return
        kinds = [ACTIVE if active else INACTIVE for active in each.active]
        boxes = map(LaneBox, texts, kinds)
        picture.row(label, [LaneBox("?", UNDEFINED) if box.text.endswith("?") else box for box in boxes])

    gives, *others = each.operands
    if others and len(set(others[0])) > 2:
        row("from", others[0])
    picture.y += 4 if frames else 0
    row("gives", gives)
    if frames:
        picture.frames(frames)
    if any(sources) and not gives[0].startswith("("):
        picture.lead(sources)
    row("gets", each.result)
    if each.result[0].startswith("("):
        bits = int(each.result[0][1:].split(",")[0])
        row("its bits", [str(bits >> lane & 1) for lane in range(len(each.active))])


def draw_time(name: str) -> str:
    """Draw which lanes execute each line, in the order of the execution."""
    shader = PictureShader(name)
    picture, described = LanePicture(shader.title), []
    before: set[int] = set()
    for text, texts in _lines(shader):
        active = set(texts)
        if before and active != before and not active.isdisjoint(before):
            picture.note("the lanes diverge" if active < before else "the lanes reconverge")
        picture.code(text, 0 if before else 8)
        boxes = [LaneBox(texts[lane]) if lane in texts else LaneBox("", INACTIVE) for lane in range(8)]
        picture.row(f"{len(active)} lanes", boxes)
        described.append(f"Lanes {_listed(texts)}: {text}")
        before = active
    return picture.svg(" ".join(described))


def _lines(shader: PictureShader) -> Iterator[tuple[str, dict[int, str]]]:
    """Yield the lines as they are executed, each with the last value that the active lanes compute in it."""
    places = SourceLocations(shader.module, "")
    steps = [step for step in shader.traced().recorder.steps if step.value.data]
    keys = ((places[step.position].line, tuple(step.lanes.tolist())) for step in steps)
    for (_, lanes), group in groupby(zip(keys, steps, strict=True), lambda pair: pair[0]):
        *_, (_, last) = group
        values = np.broadcast_to(last.value.data[0][0], len(lanes))
        yield places[last.position].text.strip(), dict(zip(lanes, map(number_text, values), strict=True))


def draw_workgroup(name: str, sizes: Sequence[int]) -> str:
    """Draw the lanes of all subgroups at some sizes: the invocation in each, and its result."""
    shaders, alone = {size: PictureShader(name, size) for size in sizes}, len(sizes) == 1
    picture = LanePicture(shaders[sizes[0]].title, max(sizes))
    described: list[str] = []
    for size, shader in shaders.items():
        recorder = shader.traced().recorder
        for subgroup in range(int(recorder.subgroup.max()) + 1):
            own = recorder.subgroup == subgroup
            index, results = recorder.local_index[own], shader.results[recorder.local_index[own]]
            boxes = [LaneBox("", ABSENT)] * size
            for lane, invocation in zip(recorder.lane[own].tolist(), index.tolist(), strict=True):
                boxes[lane] = LaneBox(str(invocation))
            if alone or not subgroup:
                picture.y += 10 if described else 0
                picture.code(f"gl_SubgroupID = {subgroup}" if alone else f"gl_SubgroupSize = {size}", size)
            picture.row("index" if alone else f"{results[0]} lanes", boxes)
            if alone:
                picture.row("result", [LaneBox(str(result)) for result in results])
            text = f"invocations {_listed(index)}, results {_listed(results)}."
            described.append(f"Size {size}, subgroup {subgroup}: {text}")
    return picture.svg(" ".join(described))


def _listed(values: Iterable[object]) -> str:
    return ", ".join(str(value) or "–" for value in values)


def drawn() -> dict[str, str]:
    """Return the pictures by name."""
    operations = ("active", "vote", "ballot", "broadcast", "reduction", "scan", "shuffle", "undefined")
    return {
        "subgroup": draw_workgroup("subgroup", [8]),
        **{name: draw_operations(name) for name in operations},
        **{name: draw_operations(name, frames=4) for name in ("quad", "cluster")},
        **{name: draw_time(name) for name in ("divergence", "loop")},
        "sizes": draw_workgroup("sizes", [4, 8, 16]),
    }


def main(*options: str) -> int:
    """Write the pictures, or with ``--check`` return an error if one differs."""
    differing = 0
    for name, text in drawn().items():
        path = PICTURES / f"{name}.svg"
        if "--check" not in options:
            path.write_text(text, "utf-8")
        elif not path.is_file() or path.read_text("utf-8") != text:
            print(f"{path.relative_to(ROOT)} differs: run make docs", file=sys.stderr)
            differing = 1
    return differing


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
