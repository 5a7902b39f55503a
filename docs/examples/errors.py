"""Errors say what is wrong and what to do; a driver never sees what they refuse."""

import numpy as np

import vkgroup

device = vkgroup.open("reference")
sums = np.zeros(128, np.uint32)
try:
    device.run("shaders/tutorial/sum.comp", 1, {"value": sums, "sums": sums})
except vkgroup.errors.InvalidDispatch as error:
    print(error)
try:
    device.compile("#version 460\nvoid main() { x = 1; }", stage="compute")
except vkgroup.errors.CompileError as error:
    print(error.diagnostics[0].line, error.diagnostics[0].message)
try:
    vkgroup.open("nonesuch")
except vkgroup.errors.NoDevice as error:
    print(str(error).splitlines()[0])
