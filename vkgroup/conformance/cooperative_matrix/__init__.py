"""Cases of cooperative matrices (VK_KHR_cooperative_matrix) at the subgroup's scope.

`component` has types and combinations, `case` what a case is and what a device lists, `place` where matrices
lie in memory, `program` how a batch becomes one shader; the topics are in `memory`, `products`, `arithmetic`,
`parts`, `conversion` and `listing`.
"""
