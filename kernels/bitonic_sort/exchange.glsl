// Exchange of elements between the invocations of a workgroup, through shared memory.

shared KEY orders[WORKGROUP * ITEMS];
shared uint indices[WORKGROUP * ITEMS];

// As fetch(). Called by all invocations of the workgroup.
void fetch_shared(Element x[ITEMS], uint mask, bool reversed, out Element other[ITEMS]) {
    uint own = invocation(), partner = own ^ mask;
    barrier();    // all have read what was exchanged before
    UNROLLED for (uint i = 0u; i < ITEMS; ++i) {
        orders[i * WORKGROUP + own] = x[i].order;
        indices[i * WORKGROUP + own] = x[i].index;
    }
    barrier();
    UNROLLED for (uint i = 0u; i < ITEMS; ++i) {
        uint slot = (reversed ? ITEMS - 1u - i : i) * WORKGROUP + partner;
        other[i] = Element(orders[slot], indices[slot]);
    }
}
