"""Cases of cooperative matrices (VK_KHR_cooperative_matrix) at the subgroup's scope.

`case` has types, combinations and axes, `program` the shader of a batch, `judging` the comparisons; the
topics are in `transfers`, `products` and `elements`, and `family` puts them together.
"""
