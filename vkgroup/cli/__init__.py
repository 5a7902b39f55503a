"""The command line: arguments in, calls of the layers above, printing out. No logic.

Exit codes are a contract: 0 all right, 1 a verdict against the device or the shader, 2 bad usage
or input, 3 no such device or missing capability.
"""
