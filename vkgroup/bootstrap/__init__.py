"""Set-up of a working environment in a new clone, using only Python's standard library.

Run ``python3 -m vkgroup.bootstrap`` in the clone; `make conform` and `make test` call it.
"""
