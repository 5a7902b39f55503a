"""Shaders to compile for their cost, and the pipelines that they are compiled in.

A fragment shader gets a generated vertex shader that passes vertex attributes on to its inputs. A vertex
shader gets a generated fragment shader that reads all its outputs. Otherwise a driver removes inputs and
outputs when it links the stages.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from vkgroup.base.errors import Unsupported
from vkgroup.base.formats import FORMATS
from vkgroup.compiler import compile_source
from vkgroup.dispatch import Device
from vkgroup.dispatch.attachments import color_outputs
from vkgroup.dispatch.draw_state import DrawFormats, InputAttachment, indices
from vkgroup.dispatch.pipeline import Pipeline
from vkgroup.dispatch.slots import slots_of
from vkgroup.dispatch.stages import Shader
from vkgroup.dispatch.vertices import match_vertices, pass_through
from vkgroup.spirv import EntryPoint, Module, ScalarType, VectorType

STAGES = ("compute", "fragment", "vertex")
"""Stages whose cost can be measured."""

_INPUT_FORMATS = {"float": "Rgba32f", "int": "Rgba32i", "uint": "Rgba32ui"}
"""Formats of input attachments, by the type that the shader reads."""


@dataclass(frozen=True)
class CompileJob:
    """A shader to compile; made by `job_of`.

    Attributes
    ----------
    code : the SPIR-V module.
    stage : one of `STAGES`.
    entry_point : its name; None for the only one.
    specialization : values of specialization constants, by id or name.
    sizes : subgroup sizes; all that the device allows if empty.
    full_subgroups : whether every subgroup must be full.
    other : SPIR-V module of the generated shader of a graphics pipeline.
    formats : formats of a graphics pipeline.
    controls_size : whether the pipeline may require a subgroup size of the shader.
    """

    code: bytes
    stage: str = "compute"
    entry_point: str | None = None
    specialization: Mapping[int | str, Any] = field(default_factory=dict)
    sizes: tuple[int, ...] = ()
    full_subgroups: bool = False
    other: bytes = b""
    formats: DrawFormats = field(default_factory=DrawFormats)
    controls_size: bool = True

    def pipeline(self, device: Device, subgroup_size: int | None) -> Pipeline:
        """Return the pipeline of the shader on a device, for the device's own subgroup size if None."""
        module = Module.from_bytes(self.code)
        if self.stage == "compute":
            return device.pipeline(
                module,
                entry_point=self.entry_point,
                specialization=self.specialization,
                subgroup_size=subgroup_size,
                full_subgroups=self.full_subgroups,
            )
        other = Module.from_bytes(self.other)
        vertex, fragment = (module, other) if self.stage == "vertex" else (other, module)
        return device.graphics_pipeline(
            vertex, fragment, self.formats, specialization=self.specialization, subgroup_size=subgroup_size
        )


def job_of(
    module: Module,
    *,
    entry_point: str | None = None,
    specialization: Mapping[int | str, Any] | None = None,
    sizes: tuple[int, ...] = (),
    full_subgroups: bool = False,
) -> CompileJob:
    """Return a shader to compile; the other parameters are the attributes of `CompileJob`.

    Raises
    ------
    InvalidDispatch
        A specialization constant does not exist, or has a value that the shader excludes.
    Unsupported
        The shader has another stage, bindings of several kinds with one number, or an input, output or
        attachment that cannot be generated.
    """
    entry = module.reflection.entry_point(entry_point)
    if entry.stage not in STAGES:
        raise Unsupported(
            f"Costs are those of compute, fragment and vertex shaders; this is a {entry.stage} shader.",
            ["a compute, fragment or vertex shader"],
        )
    specialization = specialization or {}
    # Shaders that no driver may see are refused here, before a device is opened.
    Shader(module, entry, specialization)
    slots_of(module.reflection.bindings)
    if entry.stage == "compute":
        return CompileJob(
            module.to_bytes(), "compute", entry_point, specialization, sizes, full_subgroups=full_subgroups
        )
    if len(module.reflection.entry_points) > 1:
        raise Unsupported(
            "A module of a fragment or vertex shader needs a single entry point to be compiled for its cost.",
            ["a single entry point"],
        )
    if entry.stage == "fragment":
        vertex, attributes = _vertex_shader(entry)
        formats = _formats(attributes, module)
        other = vertex
    else:
        other = compile_source(_fragment_shader(entry), stage="fragment", target="1.1")
        formats = _formats(_attributes(entry), other)
    uses_subgroups = bool(module.reflection.subgroup_uses)
    uses_subgroups |= "GroupNonUniform" in module.reflection.capabilities
    return CompileJob(
        module.to_bytes(),
        entry.stage,
        None,
        specialization,
        sizes,
        other=other.to_bytes(),
        formats=formats,
        controls_size=uses_subgroups,
    )


def _vertex_shader(fragment: EntryPoint) -> tuple[Module, tuple[Any, ...]]:
    """Return a vertex shader that passes attributes on to a fragment shader, and the attributes."""
    given: dict[Any, Any] = {
        item.location: _vertices(item.scalar, item.components) for item in fragment.variables.inputs
    }
    given["position"] = np.zeros((1, 4), np.float32)
    vertex = compile_source(pass_through(fragment, given), stage="vertex", target="1.1")
    return vertex, _attributes(vertex.reflection.entry_point(None))


def _attributes(vertex: EntryPoint) -> tuple[Any, ...]:
    """Return attributes for all inputs of a vertex shader."""
    given = {item.location: _vertices(item.scalar, item.components) for item in vertex.variables.inputs}
    return match_vertices(vertex, given).attributes


def _vertices(scalar: ScalarType | None, components: int) -> Any:
    """Return an array of one vertex; one of another type than the inputs that attributes have is refused."""
    return np.zeros((1, components), np.float32 if scalar is None else scalar.dtype)


def _fragment_shader(vertex: EntryPoint) -> str:
    """Return the GLSL fragment shader that adds all outputs of a vertex shader."""
    lines = ["#version 450", "layout(location = 0) out float total;"]
    body = ["    total = 0.0;"]
    for item in vertex.variables.outputs:
        scalar = item.scalar
        if scalar is None or scalar.bits != 32 or not isinstance(item.type, ScalarType | VectorType):
            raise Unsupported(
                f"The output {item.name or item.location} is no scalar or vector of 32 bits.",
                [str(item.type)],
            )
        place = f"location = {item.location}" + (f", component = {item.component}" * bool(item.component))
        qualifier = "" if scalar.kind == "float" else "flat "
        name = f"input_{item.location}_{item.component}"
        lines.append(f"layout({place}) {qualifier}in {item.type.glsl} {name};")
        members = [""] if isinstance(item.type, ScalarType) else [f".{m}" for m in "xyzw"[: item.components]]
        body += [f"    total += float({name}{member});" for member in members]
    return "\n".join([*lines, "void main()", "{", *body, "}", ""])


def _formats(attributes: tuple[Any, ...], fragment: Module) -> DrawFormats:
    """Return the formats of a pipeline: attachments have 32 bits for each component."""
    entry = fragment.reflection.entry_point(None)
    inputs = []
    for slot in slots_of(fragment.reflection.bindings):
        if slot.kind == "input_attachment":
            image = slot.image
            kind = "float" if image is None or image.sampled_type is None else image.sampled_type.kind
            samples = 4 if image is not None and image.multisampled else 1
            inputs += [
                InputAttachment(index, FORMATS[_INPUT_FORMATS[kind]], samples) for index in indices(slot)
            ]
    return DrawFormats(
        attributes=attributes,
        colors=tuple((output.location, output.format) for output in color_outputs(entry)),
        inputs=tuple(sorted(inputs, key=lambda item: item.index)),
    )
