"""The command line: parses arguments, calls other packages and prints results. It contains no other logic.

Exit codes do not change between versions: 0 success, 1 the device or the shader fails, 2 wrong usage
or input, 3 no such device or a missing capability.
"""
