"""Draws: vertex stage, primitives, fragment stage and attachments, in this order."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from vkgroup.base.errors import Unsupported
from vkgroup.reference.drawing.attachments import ColorTarget, DepthTarget
from vkgroup.reference.drawing.coverage import sample_locations
from vkgroup.reference.drawing.fragment_stage import FragmentStage, Outputs
from vkgroup.reference.drawing.fragments import Arranger, batches
from vkgroup.reference.drawing.interpolation import Shapes
from vkgroup.reference.drawing.shapes import Screen, ScreenShape, assemble
from vkgroup.reference.drawing.vertices import (
    Shaded,
    VertexData,
    carried,
    invocation_of,
    shade,
    translated,
)
from vkgroup.reference.events import Event, FragmentInvocation
from vkgroup.reference.interpreter.execution.execute import STEP_LIMIT, Execution
from vkgroup.reference.interpreter.execution.models import FULL, ExecutionModel
from vkgroup.reference.interpreter.execution.observers import Observer
from vkgroup.reference.interpreter.execution.paths import Parting
from vkgroup.reference.interpreter.execution.program import ExecutableShader
from vkgroup.reference.interpreter.operations.memory import Memory
from vkgroup.reference.interpreter.operations.state import Bindings
from vkgroup.reference.interpreter.values.event_log import EventLog
from vkgroup.reference.interpreter.values.value import HARD
from vkgroup.spec.limits import QUAD_SIZE


@dataclass(frozen=True)
class Draw:
    """The parameters of a draw, without its shaders and resources."""

    #: Width and height of the attachments in pixels; viewport and scissor are of the same size.
    size: tuple[int, int]
    vertices: VertexData  # attributes, indices and counts
    topology: str = "triangles"  # as in `vkgroup.dispatch.draw_state.TOPOLOGIES`
    #: `colors`, `depth`: the attachments.
    colors: Sequence[ColorTarget] = ()
    depth: DepthTarget | None = None
    samples: int = 1  # of each pixel: 1, 2, 4 or 8
    #: Whether the fragment shader runs once for each sample. It always does so where it uses its sample.
    sample_shading: bool = False
    front_face: str = "counter_clockwise"  # as in `vkgroup.dispatch.draw_state.FRONT_FACES`


@dataclass(frozen=True)
class DrawResult:
    """Events and counts of a draw."""

    #: In the order of first occurrence; events of the vertex stage come first.
    events: tuple[Event, ...]
    vertices: int = 0  # invocations of the vertex stage
    #: `fragments`, `helpers`: invocations of the fragment stage: fragments, and helper invocations.
    fragments: int = 0
    helpers: int = 0
    primitives: int = 0  # number of visible primitives
    #: For the position of each executed instruction of the fragment shader, the most invocations that
    #: executed it together.
    executed: Mapping[int, int] = field(default_factory=dict)
    #: Returns an invocation of the fragment stage by its number.
    invocation: Callable[[int], FragmentInvocation] | None = None
    #: As in `ExecutionOutcome`, of the fragment stage.
    partings: Mapping[int, Parting] = field(default_factory=dict)


def draw(
    vertex: ExecutableShader,
    fragment: ExecutableShader,
    parameters: Draw,
    resources: Bindings,
    push: bytes = b"",
    subgroup_size: int = 32,
    *,
    vertex_size: int | None = None,
    shuffle: int | None = None,
    mix_primitives: bool = False,
    deadline: float | None = None,
    addressable: Iterable[Memory] = (),
    step_limit: int = STEP_LIMIT,
    observer: Observer | None = None,
    model: ExecutionModel = FULL,
) -> DrawResult:
    """Execute a draw.

    Returns events and counts. The causes of undefined attachments and other memory are in `Memory.causes`.

    `vertex`, `fragment`: the shaders.
    `parameters`: vertices, attachments and state.
    `resources`, `push`: as for `execute`, of both stages.
    `subgroup_size`: a power of two from 4 to 128.
    `vertex_size`: the subgroup size of the vertex shader, a power of two up to 128; None for the same.
    `shuffle`: a seed for a random order of the quads of a primitive in its subgroups; None for their own.
    `mix_primitives`: whether quads of several primitives share subgroups.
    `deadline`, `addressable`, `step_limit`: as for `execute`.
    `observer`: sees each instruction of the fragment stage; None for none.
    `model`: of it, reconvergence applies to draws.

    Raises
    ------
    Unsupported
        The subgroup size is below 4, or the number of samples or the topology is not supported.
    InvalidDispatch, DispatchTimeout, OutOfMemory
        As for `execute`.
    """
    if subgroup_size < QUAD_SIZE:
        raise Unsupported(
            f"Fragments are shaded in quads, and a subgroup of {subgroup_size} has no room for one.",
            [f"a subgroup size of {QUAD_SIZE} or more in the fragment stage"],
        )
    locations = sample_locations(parameters.samples)
    assembled = assemble(parameters.topology, parameters.vertices.count)
    if not parameters.vertices.total:
        return DrawResult(())
    limits: dict[str, Any] = {
        "addressable": list(addressable),
        "until": None if deadline is None else time.monotonic() + deadline,
        "step_limit": step_limit,
        "model": replace(model, sparse="full", progress="fair"),
    }
    width = subgroup_size if vertex_size is None else vertex_size
    vertex_log = EventLog(vertex.causes, lambda number: invocation_of(parameters.vertices, width, number))
    execution = Execution(vertex, resources, push, events=vertex_log, **limits)
    shaded = shade(execution, parameters.vertices, width, points=parameters.topology == "points")
    vertex_events = execution.finish()
    shapes, undefined = _shapes(parameters, shaded, assembled)
    rng = None if shuffle is None else np.random.default_rng(shuffle)
    quads = Arranger(subgroup_size, mix_primitives, rng)
    columns = translated(shaded.columns, vertex.causes, fragment.causes)
    outputs = Outputs(fragment, parameters.size, parameters.samples, parameters.colors, parameters.depth)
    log = EventLog(fragment.causes, quads.invocation)
    execution = Execution(
        fragment, resources, push, events=log, written=outputs.images, observer=observer, **limits
    )
    if shapes:
        stage = FragmentStage(execution, Shapes(shapes, shaded.position), columns, locations, quads, outputs)
        per_sample = parameters.samples > 1 and (parameters.sample_shading or stage.needs_samples)
        for batch in batches(shapes, parameters.size, locations, per_sample):
            stage.run(batch)
    if undefined:
        outputs.undefine(log, carried(undefined, vertex.causes, fragment.causes))
    return DrawResult(
        (*vertex_events, *execution.finish()),
        parameters.vertices.total,
        quads.fragments,
        quads.helpers,
        len(shapes),
        execution.executed,
        quads.invocation,
        execution.partings,
    )


def _shapes(
    parameters: Draw, shaded: Shaded, assembled: npt.NDArray[np.int64]
) -> tuple[list[ScreenShape], int]:
    """Return the visible primitives, in order, and the cause of undefined positions; 0 for none."""
    clockwise = parameters.front_face == "clockwise"
    size = np.array(parameters.size, np.float64)
    screen = Screen(size, shaded.position, shaded.point_size, shaded.clip, shaded.cull, clockwise)
    undefined = (
        np.zeros(parameters.vertices.total, np.uint16) if shaded.undefined is None else shaded.undefined
    )
    shapes: list[ScreenShape] = []
    worst = 0
    for instance in range(parameters.vertices.instances):
        for number, vertices in enumerate((assembled + instance * parameters.vertices.count).tolist()):
            worst = max(worst, *undefined[vertices].tolist())
            shape = screen.shape(vertices, number)
            if shape is not None:
                shapes.append(shape)
    return shapes, worst if worst >= HARD else 0
