"""Indices and pointers that must be uniform, since they choose between descriptors or push constants."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from vkgroup.reference.interpreter.operations.state import Frame
from vkgroup.reference.interpreter.program.site import Site
from vkgroup.reference.interpreter.values.value import Causes, marked
from vkgroup.reference.semantics.lanes import same_in_all

OTHER_DESCRIPTORS = "an array of descriptors is indexed by a value that is not uniform, without nonuniformEXT"
OTHER_CONSTANTS = (
    "an array of push constants is indexed by a value that is not uniform"
    " (Vulkan, Push Constant Interface: an array must only be accessed with dynamically uniform indices)"
)
OTHER_BUFFERS = (
    "a pointer that is not decorated NonUniform points into different buffers in lanes of a subgroup"
    " (VUID-RuntimeSpirv-subgroupSize-10149)"
)


def not_uniform(frame: Frame, index: npt.NDArray[np.int64], site: Site, detail: str) -> Causes | None:
    """Return the causes where an index or a pointer differs among the active invocations of a subgroup.

    Where that chooses between descriptors, Vulkan requires the decoration NonUniform. An index that is
    uniform in each subgroup, and not in the workgroup, is accepted.
    """
    subgroups = frame.subgroups
    agree = same_in_all(subgroups.spread(index), subgroups.active)
    if agree.all():
        return None
    number = site.cause("not_uniform", detail)
    causes = marked(~agree, number)[:, None, None]
    return subgroups.collect(np.broadcast_to(causes, (*subgroups.active.shape, 1)).copy(), ())
