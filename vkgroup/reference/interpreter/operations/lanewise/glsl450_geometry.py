"""GLSL.std.450: lengths, products and reflections of vectors; a scalar is a vector of one component.

Each step is rounded to the operands' type, in the order of the formulas from which Vulkan lets these
instructions inherit their precision ("Precision of Individual Operations").
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from vkgroup.reference.interpreter.operations.lanewise.elementwise import (
    Factory,
    Function,
    dims_of,
    mark,
    spread,
)
from vkgroup.reference.interpreter.operations.lanewise.glsl450_transcendental import inverse_sqrt
from vkgroup.reference.interpreter.operations.lanewise.matrices import dot
from vkgroup.reference.interpreter.program.site import Site
from vkgroup.reference.interpreter.values.value import Causes, Data, Value, combine, single

_NEXT, _AFTER_NEXT = [1, 2, 0], [2, 0, 1]


def _length(x: Data) -> Data:
    return np.asarray(np.sqrt(dot(x, x)))


def _distance(x: Data, y: Data) -> Data:
    return _length(x - y)


def _normalize(x: Data) -> Data:
    return np.asarray(x * inverse_sqrt(dot(x, x)))


def _cross(x: Data, y: Data) -> Data:
    return np.asarray(x[_NEXT] * y[_AFTER_NEXT] - y[_NEXT] * x[_AFTER_NEXT])


def _reflect(incident: Data, normal: Data) -> Data:
    two = incident.dtype.type(2)
    return np.asarray(incident - two * dot(normal, incident) * normal)


def _refract(incident: Data, normal: Data, ratio: Data) -> Data:
    """Return the refracted vector; the ratio of indices comes as a vector of one component."""
    ratio = ratio[0]
    zero, one = ratio.dtype.type(0), ratio.dtype.type(1)
    cosine = dot(normal, incident)
    k = one - ratio * ratio * (one - cosine * cosine)
    bent = ratio * incident - (ratio * cosine + np.sqrt(np.maximum(k, zero))) * normal
    return np.asarray(np.where(k < zero, zero, bent))


def _vector(operand: Value, dims: tuple[int, ...]) -> Data:
    """Return a vector's array, or a scalar's as that of a vector of one component."""
    return operand.data if dims else operand.data[None]


def _overall(operand: Value, dims: tuple[int, ...]) -> Causes | None:
    """Return the largest cause over a vector's components."""
    if operand.cause is None or not dims:
        return operand.cause
    return np.asarray(spread(operand.cause, dims).max(axis=0))


def _geometry(
    kernel: Callable[..., Data], undefined: Callable[[Data], Data] | None = None, detail: str = ""
) -> Factory:
    """Return a function of vectors whose every component needs all components of all operands.

    `undefined` says, of the first operand, where there is no result, and `detail` why.
    """

    def factory(site: Site) -> Function:
        dims = [dims_of(kind) for kind in site.operand_types]
        result = dims_of(site.type)
        number = site.cause("math_domain", detail) if undefined is not None else 0

        def run(*operands: Value) -> Value:
            vectors = [_vector(*pair) for pair in zip(operands, dims, strict=True)]
            data = kernel(*vectors)
            cause = combine(*(_overall(*pair) for pair in zip(operands, dims, strict=True)))
            if undefined is not None:
                cause = mark(cause, undefined(vectors[0]), number)
            return single(data.reshape(*result, data.shape[-1]), cause)

        return run

    return factory


def _cross_factory(site: Site) -> Function:
    """Cross: each component needs the two others of both operands."""

    def run(x: Value, y: Value) -> Value:
        cause = combine(x.cause, y.cause)
        if cause is not None:
            whole = spread(cause, (3,))
            cause = np.maximum(whole[_NEXT], whole[_AFTER_NEXT])
        return single(_cross(x.data, y.data), cause)

    return run


def _face_forward_factory(site: Site) -> Function:
    """FaceForward: each component needs its own of the first operand, and all of the two others."""
    dims = dims_of(site.type)

    def run(normal: Value, incident: Value, reference: Value) -> Value:
        sign = dot(_vector(reference, dims), _vector(incident, dims))
        cause = combine(normal.cause, _overall(incident, dims), _overall(reference, dims))
        return single(np.where(sign < 0, normal.data, -normal.data), cause)

    return run


def _no_direction(x: Data) -> Data:
    return np.equal(dot(x, x), 0)


GLSL450_GEOMETRY: dict[str, Factory] = {
    "Length": _geometry(_length),
    "Distance": _geometry(_distance),
    "Cross": _cross_factory,
    "Normalize": _geometry(_normalize, _no_direction, "normalize() of a vector without length"),
    "FaceForward": _face_forward_factory,
    "Reflect": _geometry(_reflect),
    "Refract": _geometry(_refract),
}
