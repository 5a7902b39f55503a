"""The images of which a shader asks the size, and for what: comparisons, or coordinates of texels."""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

from vkgroup.check.flow import DataFlow
from vkgroup.check.inputs import image_type
from vkgroup.reference.interpreter.operations.images.memory import AXES
from vkgroup.reference.interpreter.program.site import sort_operands
from vkgroup.spirv import ImageType, Instruction, Module, SampledImageType
from vkgroup.spirv.declarations import Declarations

_KEPT = frozenset(
    {
        *("OpAccessChain", "OpInBoundsAccessChain", "OpLoad", "OpCopyObject", "OpImage", "OpSampledImage"),
        *("OpCompositeExtract", "OpCompositeConstruct", "OpCompositeInsert", "OpVectorShuffle"),
        *("OpVectorExtractDynamic", "OpVectorInsertDynamic", "OpSelect", "OpPhi", "OpBitcast"),
        *("OpIAdd", "OpISub", "OpIMul", "OpUDiv", "OpSDiv", "OpUMod", "OpSMod", "OpSRem", "OpFAdd", "OpFSub"),
        *("OpShiftRightLogical", "OpShiftRightArithmetic", "OpShiftLeftLogical"),
        *("OpConvertSToF", "OpConvertUToF", "OpConvertFToS", "OpConvertFToU", "OpUConvert", "OpSConvert"),
    }
)
"""Instructions whose result is an image or a size if an operand is one.

A quotient or product of floats is no size: it is a coordinate from 0 to 1, or its step.
"""

_QUERIES = ("OpImageQuerySize", "OpImageQuerySizeLod")
_CHAINS = ("OpAccessChain", "OpInBoundsAccessChain")
_ACCESSES = ("OpImageRead", "OpImageWrite", "OpImageFetch", "OpImageTexelPointer")
_LOD = 2
"""The bit of the level among the image operands."""

_LIMITS = frozenset(range(37, 46))
"""FMin, UMin, SMin, FMax, UMax, SMax, FClamp, UClamp and SClamp of GLSL.std.450."""


class AskedImages(NamedTuple):
    """Variables of images whose size a shader asks for."""

    limiting: frozenset[int]  # the size limits or is a part of coordinates: accesses beyond it are errors
    compared: frozenset[int]  # the size is compared with something else: the dispatch may be larger


@lru_cache(maxsize=8)  # each trial of a shader asks
def asked_images(module: Module) -> AskedImages:
    """Return the images whose size a shader asks for; control flow is ignored."""
    if not any(entry.name in _QUERIES for entry in module.instructions):
        return AskedImages(frozenset(), frozenset())
    flow = _Flow(module)
    limiting: set[int] = set()
    compared: set[int] = set()
    for entry in module.instructions:
        words = entry.operands
        if entry.name.startswith(_ACCESSES):
            limiting |= flow.sizes.get(words[1], set())
        elif entry.name == "OpExtInst" and words[1] in _LIMITS:
            limiting |= flow.of(flow.sizes, words[2:])
        elif "LessThan" in entry.name or "GreaterThan" in entry.name:
            for size, other in (words, reversed(words)):
                compared |= set() if other in flow.sizes else flow.alone.get(size, set())
    return AskedImages(frozenset(limiting | compared), frozenset(compared))


def reads_levels(module: Module) -> bool:
    """Whether a shader may read levels of sampled images other than the first, or ask for their number."""
    constants = Declarations(module).constants
    for entry in module.instructions:
        if "ImplicitLod" in entry.name or entry.name in ("OpImageQueryLod", "OpImageQueryLevels"):
            return True
        if entry.name == "OpImageQuerySizeLod":
            level = entry.operands[1]
        elif entry.name == "OpImageFetch" and entry.operands[2:] and entry.operands[2] & _LOD:
            level = entry.operands[3]
        elif "ExplicitLod" in entry.name:
            level = entry.operands[4 if "Dref" in entry.name else 3]
        else:
            continue
        constant = constants.get(level)
        if constant is None or constant.specialization is not None or constant.value != 0:
            return True
    return False


class _Flow:
    """The variables of images behind values and pointers, and those whose size is in a value or variable.

    `images`, `sizes`: by id. `alone`: as `sizes`, for values that depend on nothing else but constants.
    """

    def __init__(self, module: Module) -> None:
        self.images: dict[int, set[int]] = {}
        self.sizes: dict[int, set[int]] = {}
        self.alone: dict[int, set[int]] = {}
        self._fixed = {entry.result_id for entry in module.instructions if "Constant" in entry.name}
        self._parameters: dict[int, list[int]] = {}
        self._bases: dict[int, int] = {}
        self._constants = DataFlow(module).constants
        #: The axes of images that have layers; their size has the number of layers as another component.
        self._layered: dict[int, int] = {}
        function = 0
        for binding in module.reflection.bindings:
            self.images[binding.id] = {binding.id}
            if isinstance(binding.type, ImageType | SampledImageType):
                kind = image_type(binding)
                self._layered |= {binding.id: AXES.get(kind.dimension, 3)} if kind.arrayed else {}
        for entry in module.instructions:
            if entry.name == "OpFunction":
                function = entry.result_id
            elif entry.name == "OpFunctionParameter":
                self._parameters.setdefault(function, []).append(entry.result_id)
            elif entry.name in _CHAINS:
                self._bases[entry.result_id] = entry.operands[0]
        before = -1
        while before != (before := self._count()):
            for entry in module.instructions:
                if entry.name == "OpFunction":
                    function = entry.result_id
                self._follow(entry, function)

    def _base(self, pointer: int) -> int:
        """Return the variable that a pointer points into."""
        while pointer in self._bases:
            pointer = self._bases[pointer]
        return pointer

    def _count(self) -> int:
        return sum(
            len(found) for values in (self.images, self.sizes, self.alone) for found in values.values()
        )

    @staticmethod
    def of(values: dict[int, set[int]], ids: tuple[int, ...]) -> set[int]:
        """Return the variables of some ids."""
        return set[int]().union(*(values.get(one, ()) for one in ids))

    def _follow(self, entry: Instruction, function: int) -> None:
        words = entry.operands
        if entry.name in _QUERIES:
            for values in (self.sizes, self.alone):
                self._add(values, entry.result_id, self.images.get(words[0], set()))
            return
        for values in (self.images, self.sizes, self.alone):
            if entry.name in _KEPT:
                # An index into a variable is not in what is read there.
                used = words[:1] if entry.name in _CHAINS else tuple(sort_operands(entry).values)
                if values is not self.alone or all(one in self._fixed | values.keys() for one in used):
                    without = set() if values is self.images else self._with_layers(entry)
                    self._add(values, entry.result_id, self.of(values, used) - without)
            elif entry.name == "OpStore":
                self._add(values, self._base(words[0]), values.get(words[1], set()))
            elif entry.name == "OpFunctionCall":
                for parameter, argument in zip(self._parameters.get(words[0], ()), words[1:], strict=False):
                    self._add(values, parameter, values.get(argument, set()))
                self._add(values, entry.result_id, values.get(words[0], set()))
            elif entry.name == "OpReturnValue":
                self._add(values, function, values.get(words[0], set()))

    def _with_layers(self, entry: Instruction) -> set[int]:
        """Return the images of which an instruction takes the number of layers out of their size."""
        words = entry.operands
        if len(words) != 2 or entry.name not in (*_CHAINS, "OpCompositeExtract"):
            return set()
        index = words[1] if entry.name == "OpCompositeExtract" else self._constants.get(words[1], 0)
        return {image for image, axes in self._layered.items() if index >= axes}

    @staticmethod
    def _add(values: dict[int, set[int]], identifier: int, found: set[int]) -> None:
        if found:
            values.setdefault(identifier, set()).update(found)
