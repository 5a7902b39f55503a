#version 460
// Sort of short rows, without subgroup operations: invocations exchange elements through shared memory.
// Bindings and macros: network.glsl.
#include "network.glsl"
#include "exchange.glsl"

uint invocation() {
    return gl_LocalInvocationIndex;
}

void fetch(Element x[ITEMS], uint mask, bool reversed, out Element other[ITEMS]) {
    fetch_shared(x, mask, reversed, other);
}
