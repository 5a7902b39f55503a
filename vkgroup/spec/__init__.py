"""Facts of the specifications as data, each written once.

This package is the lowest layer: it imports only itself and the standard library, and reads no file.
`vkgroup.spec.registry` is generated from the registry files that installed packages provide. No package
provides vk.xml, so features, extensions, limits and sentences are written by hand. The functions that compute
results are attached to the rows in `vkgroup.reference.registry`.
"""
