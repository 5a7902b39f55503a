"""Configurations of a shader: groups, defines, constants and inputs, in a JSON or TOML file.

The format is documented in ``docs/shaders/configuration.md``.
"""

from vkgroup.configuration.fields import Configuration, key_of
from vkgroup.configuration.reading import chosen, read
from vkgroup.configuration.writing import Arrays, write

__all__ = ["Arrays", "Configuration", "chosen", "key_of", "read", "write"]
