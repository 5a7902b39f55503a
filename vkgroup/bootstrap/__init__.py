"""From a fresh clone to a working environment, with nothing but Python's standard library.

``python3 -m vkgroup.bootstrap`` in the clone; `make conform` and `make test` call it.
"""
