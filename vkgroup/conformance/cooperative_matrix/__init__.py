"""Cases of cooperative matrices (VK_KHR_cooperative_matrix) at the subgroup's scope.

`case` has types, combinations and axes, `program` the shader of a batch, `comparing` the comparisons. The
topics are in `transfers`, `products` and `elements`; `family` combines them.
"""
