"""Execution: invocations arranged in subgroups, scheduled over the segments of a program, and observed."""
