"""Facts of the specifications as data, each written once.

This package is the lowest layer: it imports nothing of vkgroup but itself, no NumPy, and reads no file. The
functions that compute results are attached to its rows in `vkgroup.reference.registry`.
"""
