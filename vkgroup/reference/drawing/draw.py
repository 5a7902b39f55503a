"""Draws: the vertex stage, the primitives, the fragment stage and the attachments, one after the other."""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from vkgroup.dispatch.events import Event
from vkgroup.errors import Unsupported
from vkgroup.reference.drawing.assembly import assemble
from vkgroup.reference.drawing.attachments import ColorTarget, DepthTarget
from vkgroup.reference.drawing.fragment_stage import FragmentStage
from vkgroup.reference.drawing.fragments import QUAD, Arranger, batches
from vkgroup.reference.drawing.interpolation import Shapes
from vkgroup.reference.drawing.outputs import Outputs
from vkgroup.reference.drawing.samples import sample_locations
from vkgroup.reference.drawing.shapes import Screen, Shape
from vkgroup.reference.drawing.vertices import (
    Shaded,
    VertexData,
    carried,
    invocation_of,
    shade,
    translated,
)
from vkgroup.reference.interpreter.execution.event_log import EventLog
from vkgroup.reference.interpreter.execution.execute import STEP_LIMIT, Execution
from vkgroup.reference.interpreter.execution.program import Program
from vkgroup.reference.interpreter.execution.resources import Bindings
from vkgroup.reference.interpreter.operations.memory import Memory
from vkgroup.reference.interpreter.values.value import HARD


@dataclass(frozen=True)
class Draw:
    """A draw, apart from its shaders and what is bound.

    Attributes
    ----------
    size : width and height of the attachments in pixels; all of them is viewport and scissor.
    vertices : attributes, indices, how many.
    topology : as in `vkgroup.dispatch.drawing.TOPOLOGIES`.
    colors, depth : the attachments.
    samples : of each pixel: 1, 2, 4 or 8.
    sample_shading : whether the fragment shader runs once for each sample. It does so in any case where it
        asks for its sample.
    front_face : as in `vkgroup.dispatch.drawing.FRONT_FACES`.
    """

    size: tuple[int, int]
    vertices: VertexData
    topology: str = "triangles"
    colors: Sequence[ColorTarget] = ()
    depth: DepthTarget | None = None
    samples: int = 1
    sample_shading: bool = False
    front_face: str = "counter_clockwise"


@dataclass(frozen=True)
class Drawn:
    """What a draw noticed.

    Attributes
    ----------
    events : in the order in which they happened first, those of the vertex stage before the others.
    vertices, fragments, helpers : invocations of the vertex stage; of the fragment stage, helpers apart.
    primitives : how many had anything to be seen.
    """

    events: tuple[Event, ...]
    vertices: int = 0
    fragments: int = 0
    helpers: int = 0
    primitives: int = 0


def draw(
    vertex: Program,
    fragment: Program,
    what: Draw,
    resources: Bindings,
    push: bytes = b"",
    subgroup_size: int = 32,
    *,
    vertex_size: int | None = None,
    shuffle: int | None = None,
    mix_primitives: bool = False,
    step_limit: int = STEP_LIMIT,
    deadline: float | None = None,
    addressable: Iterable[Memory] = (),
) -> Drawn:
    """Draw.

    Parameters
    ----------
    vertex, fragment : the shaders.
    what : vertices, attachments and how.
    resources, push : as for `execute`, of both stages.
    subgroup_size : a power of two from 4 to 128.
    vertex_size : the subgroup size of the vertex shader, a power of two up to 128; None: the same.
    shuffle : a seed: quads of a primitive are put into its subgroups at random.
    mix_primitives : whether quads of several primitives share subgroups.
    step_limit, deadline, addressable : as for `execute`.

    Returns
    -------
    What went wrong, and how much was done. What is undefined about attachments and other memory is in
    `Memory.causes`.

    Raises
    ------
    Unsupported
        The subgroup size is below 4, or the number of samples or the topology is none that is drawn with.
    InvalidDispatch, DispatchTimeout, OutOfMemory
        As for `execute`.
    """
    if subgroup_size < QUAD:
        raise Unsupported(
            f"A subgroup of {subgroup_size} has no quads, which fragments are shaded in.",
            [f"a subgroup size of {QUAD} or more in the fragment stage"],
        )
    locations = sample_locations(what.samples)
    assembled = assemble(what.topology, what.vertices.count)
    if not what.vertices.total:
        return Drawn(())
    limits: dict[str, Any] = {
        "addressable": list(addressable),
        "step_limit": step_limit,
        "until": None if deadline is None else time.monotonic() + deadline,
    }
    width = subgroup_size if vertex_size is None else vertex_size
    vertex_log = EventLog(vertex.causes, lambda number: invocation_of(what.vertices, width, number))
    execution = Execution(vertex, resources, push, events=vertex_log, **limits)
    shaded = shade(execution, what.vertices, width, points=what.topology == "points")
    vertex_events = execution.finish()
    shapes, undefined = _shapes(what, shaded, assembled)
    rng = None if shuffle is None else np.random.default_rng(shuffle)
    quads = Arranger(subgroup_size, mix_primitives, rng)
    columns = translated(shaded.columns, vertex.causes, fragment.causes)
    outputs = Outputs(fragment, what.size, what.samples, what.colors, what.depth)
    log = EventLog(fragment.causes, quads.invocation)
    execution = Execution(fragment, resources, push, events=log, written=outputs.images, **limits)
    if shapes:
        stage = FragmentStage(execution, Shapes(shapes, shaded.position), columns, locations, quads, outputs)
        per_sample = what.samples > 1 and (what.sample_shading or stage.asks_for_sample)
        for batch in batches(shapes, what.size, locations, per_sample):
            stage.run(batch)
    if undefined:
        outputs.undefine(log, carried(undefined, vertex.causes, fragment.causes))
    return Drawn(
        (*vertex_events, *execution.finish()),
        what.vertices.total,
        quads.fragments,
        quads.helpers,
        len(shapes),
    )


def _shapes(what: Draw, shaded: Shaded, assembled: npt.NDArray[np.int64]) -> tuple[list[Shape], int]:
    """Return the primitives that can be seen, in order, and the cause of positions that are undefined."""
    clockwise = what.front_face == "clockwise"
    screen = Screen(
        what.size, shaded.position, shaded.point_size, shaded.clip, shaded.cull, clockwise=clockwise
    )
    undefined = np.zeros(what.vertices.total, np.uint16) if shaded.undefined is None else shaded.undefined
    found: list[Shape] = []
    worst = 0
    for instance in range(what.vertices.instances):
        for number, vertices in enumerate((assembled + instance * what.vertices.count).tolist()):
            worst = max(worst, *undefined[vertices].tolist())
            shape = screen.shape(vertices, number)
            if shape is not None:
                found.append(shape)
    return found, worst if worst >= HARD else 0
