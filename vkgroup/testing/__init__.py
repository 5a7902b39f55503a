"""Assertions for tests of shaders (`assertions`), and pytest's plugin (`plugin`).

Names are imported when first used, because pytest loads the plugin in every run where vkgroup is installed.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from vkgroup.testing.assertions import (
        SIZES,
        ShaderFindings,
        SizesDiffer,
        assert_same_at_every_size,
        check_shader,
    )

__all__ = ["SIZES", "ShaderFindings", "SizesDiffer", "assert_same_at_every_size", "check_shader"]


def __getattr__(name: str) -> Any:
    """Import a public name when it is first used."""
    if name not in __all__:
        raise AttributeError(f"module 'vkgroup.testing' has no attribute {name!r}")
    from vkgroup.testing import assertions

    value = globals()[name] = getattr(assertions, name)
    return value
