"""The main family: the operations of KHR_shader_subgroup and of later extensions.

Reading order: `cases` (axes and names), `operands` (ids, masks and others), `data` (values), `shader` (the
program of a batch), `expectation` (the legal values of each lane, and the verdict), `family` (requirements,
batches, and the run of a batch).
"""
