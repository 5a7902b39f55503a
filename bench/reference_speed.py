"""Speed of the reference device on one core: arithmetic, a reduction, growth, memory.

    python bench/reference_speed.py [--out FILE.json]

* arithmetic: multiplications and additions of float32 in a loop, 2^20 invocations. Only float instructions
* are
  counted; loads, stores and loop control take time but are not counted.
* reduction: 2^20 float32 in two passes with shared memory and subgroupAdd, with and without race detection.
* growth: the same arithmetic on 2^14 to 2^22 invocations, and with 1 to 64 times the instructions. memory:
* NumPy's peak memory divided by the number of invocations times the live values of the shader.
"""

from __future__ import annotations

import argparse
import json
import platform
import statistics
import sys
import time
import tracemalloc
from pathlib import Path
from typing import Any

import numpy as np

from vkgroup.compiler import TargetEnvironment, compile_source
from vkgroup.reference.interpreter import ExecutableShader, Memory, execute

REPEATS = 5
ROUNDS = 8

ARITHMETIC = """#version 460
layout(local_size_x = 256) in;
layout(std430, binding = 0) buffer Data {{ float data[]; }};
void main() {{
    float v = data[gl_GlobalInvocationID.x], w = v;
    for (int k = 0; k < {rounds}; k++) {{ {body} }}
    data[gl_GlobalInvocationID.x] = v + w;
}}
"""
STEP = "v = v * 0.999 + w; w = w * 0.5 - v;"
STEP_INSTRUCTIONS = 4

REDUCTION = """#version 460
#extension GL_KHR_shader_subgroup_arithmetic : require
layout(local_size_x = 256) in;
layout(std430, binding = 0) readonly buffer Data { float data[]; };
layout(std430, binding = 1) writeonly buffer Sums { float sums[]; };
shared float parts[256];
void main() {
    float sum = subgroupAdd(data[gl_GlobalInvocationID.x]);
    if (subgroupElect()) parts[gl_SubgroupID] = sum;
    barrier();
    if (gl_SubgroupID == 0u) {
        sum = 0.0;
        for (uint k = gl_SubgroupInvocationID; k < gl_NumSubgroups; k += gl_SubgroupSize) sum += parts[k];
        sum = subgroupAdd(sum);
        if (subgroupElect()) sums[gl_WorkGroupID.x] = sum;
    }
}
"""


def program(source: str) -> ExecutableShader:
    """Compile a shader for the interpreter."""
    return ExecutableShader(compile_source(source, stage="compute", target=TargetEnvironment.VULKAN_1_2))


def memory(array: np.ndarray[Any, Any], name: str) -> Memory:
    """Return the memory of an array."""
    return Memory(array.view(np.uint8), name)


def median_seconds(run: Any) -> float:
    """Run a function several times and return its median time in seconds."""
    seconds = []
    for _ in range(REPEATS):
        start = time.perf_counter()
        run()
        seconds.append(time.perf_counter() - start)
    return statistics.median(seconds)


def arithmetic(invocations: int, steps: int) -> dict[str, float]:
    """Time the arithmetic shader."""
    chosen = program(ARITHMETIC.format(rounds=ROUNDS, body=" ".join([STEP] * steps)))
    data = np.random.default_rng(0).random(invocations, np.float32)
    seconds = median_seconds(
        lambda: execute(chosen, (invocations // 256, 1, 1), {(0, 0): [memory(data, "data")]})
    )
    counted = invocations * ROUNDS * steps * STEP_INSTRUCTIONS
    return {
        "invocations": invocations,
        "float_instructions": ROUNDS * steps * STEP_INSTRUCTIONS,
        "seconds": seconds,
        "lane_instructions_per_second": counted / seconds,
    }


def reduction(size: int, races: bool) -> dict[str, float | bool]:
    """Time 2^20 elements in two passes, and check the sum."""
    chosen = program(REDUCTION)
    data = np.random.default_rng(0).integers(0, 16, 1 << 20).astype(np.float32)
    sums, total = np.zeros(4096, np.float32), np.zeros(16, np.float32)

    def run() -> None:
        for source, result in ((data, sums), (sums, total)):
            execute(
                chosen,
                (len(result), 1, 1),
                {(0, 0): [memory(source, "data")], (0, 1): [memory(result, "sums")]},
                subgroup_size=size,
                races=races,
            )

    seconds = median_seconds(run)
    if total.sum(dtype=np.float64) != data.sum(dtype=np.float64):
        sys.exit("the reduction is wrong: a wrong result has no time")
    return {"subgroup_size": size, "races": races, "seconds": seconds}


def memory_of_values(invocations: int) -> dict[str, float]:
    """Measure the peak memory of a dispatch per invocation and live value."""
    live = 24
    names = [f"v{k}" for k in range(live)]
    body = " ".join(f"float {name} = data[i] * {k + 1}.0;" for k, name in enumerate(names))
    source = f"""#version 460
    layout(local_size_x = 256) in;
    layout(std430, binding = 0) buffer Data {{ float data[]; }};
    void main() {{ uint i = gl_GlobalInvocationID.x; {body} data[i] = {" + ".join(names)}; }}"""
    chosen = program(source)
    data = np.zeros(invocations, np.float32)
    tracemalloc.start()
    execute(chosen, (invocations // 256, 1, 1), {(0, 0): [memory(data, "data")]})
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return {
        "invocations": invocations,
        "live_values": live,
        "peak_bytes": peak,
        "bytes_per_value_and_invocation": peak / live / invocations,
    }


def main() -> None:
    """Measure, print the results, and write a file if requested."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--out", type=Path, help="a JSON file to write")
    arguments = parser.parse_args()
    found = {
        "machine": {"system": platform.system(), "processor": platform.machine(), "numpy": np.__version__},
        "arithmetic": arithmetic(1 << 20, 8),
        "reduction": [reduction(size, races) for size in (1, 32, 128) for races in (False, True)],
        "growth_with_invocations": [arithmetic(1 << power, 8) for power in range(14, 23, 2)],
        "growth_with_instructions": [arithmetic(1 << 18, steps) for steps in (1, 4, 16, 64)],
        "memory": [memory_of_values(1 << power) for power in (16, 20)],
    }
    text = json.dumps(found, indent=2)
    print(text)
    if arguments.out is not None:
        arguments.out.write_text(text + "\n")


if __name__ == "__main__":
    main()
