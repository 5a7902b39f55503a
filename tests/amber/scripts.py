"""Small Amber scripts for tests."""

from __future__ import annotations

from pathlib import Path

from vkgroup.amber import ScriptOutcome, read_script, run_script
from vkgroup.dispatch import Device

DOUBLES = """\
SHADER compute doubles GLSL
#version 450
layout(local_size_x = 4) in;
layout(set = 0, binding = 0) buffer Data { uint data[]; };
void main() { data[gl_GlobalInvocationID.x] *= 2u; }
END
"""

BUFFER = "BUFFER data DATA_TYPE uint32 DATA 1 2 3 4 END\n"

PIPELINE = """\
PIPELINE compute pipeline
  ATTACH doubles
  BIND BUFFER data AS storage DESCRIPTOR_SET 0 BINDING 0
END
"""

START = f"#!amber\n{DOUBLES}{BUFFER}{PIPELINE}"
"""A compute pipeline and its buffer, to be followed by commands."""

COLORED = """\
#!amber
SHADER vertex vertices PASSTHROUGH
SHADER fragment colors GLSL
#version 450
layout(location = 0) out vec4 color;
layout(set = 0, binding = 0) uniform Light { vec4 light; };
void main() { color = light; }
END
BUFFER light DATA_TYPE vec4<float> DATA 1 0.2 0 1 END
BUFFER frame FORMAT B8G8R8A8_UNORM
PIPELINE graphics pipeline
  ATTACH vertices
  ATTACH colors
  FRAMEBUFFER_SIZE 16 8
  BIND BUFFER light AS uniform DESCRIPTOR_SET 0 BINDING 0
  BIND BUFFER frame AS color LOCATION 0
END
"""
"""A graphics pipeline with its frame, to be followed by commands."""


def write(folder: Path, text: str, name: str = "a.amber") -> Path:
    """Write a script, and return its path."""
    path = folder / name
    path.write_text(text)
    return path


def run(device: Device, folder: Path, text: str) -> ScriptOutcome:
    """Write a script, and run it on a device."""
    return run_script(device, read_script(write(folder, text)))
