"""Values of many invocations: arrays, causes of undefined values, sets of lanes, subgroups."""
