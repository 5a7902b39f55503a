"""The scalar and vector types of GLSL's subgroup functions, with the features and extensions of each.

The types are genType, genDType, genIType, genUType and genBType of KHR_shader_subgroup (section 8.18) and
the 8-, 16- and 64-bit types of GL_EXT_shader_subgroup_extended_types.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Scalar:
    """A scalar type."""

    name: str  # as GLSL writes it, ``"float16_t"``
    kind: str  # {"float", "int", "uint", "bool"}
    #: Width of the value; 32 for bool, which is stored as a uint. `vkgroup.reference.dtypes` has NumPy's
    #: type.
    bits: int
    vector_prefix: str  # GLSL's prefix of vector types, ``"f16vec"``
    features: tuple[str, ...] = ()  # Vulkan features that any arithmetic in this type needs
    extensions: tuple[str, ...] = ()  # GLSL extensions that make the type available for arithmetic
    subgroup_extensions: tuple[str, ...] = ()  # GLSL extensions for subgroup functions on it

    @property
    def extended(self) -> bool:
        """Whether subgroup functions on it need the feature ``shaderSubgroupExtendedTypes``.

        That feature covers 8-, 16- and 64-bit integers and 16-bit floats, not 64-bit floats
        (VkPhysicalDeviceShaderSubgroupExtendedTypesFeatures).
        """
        return bool(self.subgroup_extensions)

    @property
    def subgroup_features(self) -> tuple[str, ...]:
        """Vulkan features that a subgroup function on this type needs."""
        return (*self.features, "shaderSubgroupExtendedTypes") if self.extended else self.features


@dataclass(frozen=True)
class GlslType:
    """A scalar (one component), a vector of two to four, or a long one of eight."""

    name: str  # as GLSL writes it, ``"f16vec3"``; of a long vector ``"vec8_float16_t"``
    scalar: Scalar  # the type of each component
    components: int  # 1 to 4, or 8

    def __str__(self) -> str:
        return self.name


def _extended(name: str, kind: str, bits: int, prefix: str, feature: str) -> Scalar:
    """Return the row of a type of GL_EXT_shader_subgroup_extended_types."""
    family = f"{'float' if kind == 'float' else 'int'}{bits}"
    return Scalar(
        name,
        kind,
        bits,
        prefix,
        features=(feature,),
        extensions=(f"GL_EXT_shader_explicit_arithmetic_types_{family}",),
        subgroup_extensions=(f"GL_EXT_shader_subgroup_extended_types_{family}",),
    )


_SCALARS = (
    Scalar("float", "float", 32, "vec"),
    Scalar("double", "float", 64, "dvec", features=("shaderFloat64",)),
    Scalar("int", "int", 32, "ivec"),
    Scalar("uint", "uint", 32, "uvec"),
    Scalar("bool", "bool", 32, "bvec"),
    _extended("int8_t", "int", 8, "i8vec", "shaderInt8"),
    _extended("uint8_t", "uint", 8, "u8vec", "shaderInt8"),
    _extended("int16_t", "int", 16, "i16vec", "shaderInt16"),
    _extended("uint16_t", "uint", 16, "u16vec", "shaderInt16"),
    _extended("int64_t", "int", 64, "i64vec", "shaderInt64"),
    _extended("uint64_t", "uint", 64, "u64vec", "shaderInt64"),
    _extended("float16_t", "float", 16, "f16vec", "shaderFloat16"),
)

SCALARS: dict[str, Scalar] = {scalar.name: scalar for scalar in _SCALARS}
"""Every scalar type by its GLSL name."""

TYPES: dict[str, GlslType] = {
    type_.name: type_
    for scalar in _SCALARS
    for type_ in (
        GlslType(scalar.name, scalar, 1),
        *(GlslType(f"{scalar.vector_prefix}{count}", scalar, count) for count in (2, 3, 4)),
    )
}
"""Every scalar and vector type by its GLSL name, in the order of the scalars."""

LONG_TYPES: dict[str, GlslType] = {
    type_.name: type_ for type_ in (GlslType(f"vec8_{scalar.name}", scalar, 8) for scalar in _SCALARS)
}
"""Vectors of eight components (SPV_EXT_long_vector) by name; GLSL's functions do not accept them."""


def type_named(name: str) -> GlslType:
    """Return a type, or long vector, by name; raises KeyError if there is none."""
    return TYPES.get(name) or LONG_TYPES[name]
