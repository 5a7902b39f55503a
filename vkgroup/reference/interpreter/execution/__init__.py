"""Execution: subgroups of invocations, scheduling over the segments of a program, events and traces."""
