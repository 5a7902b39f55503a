/* Read the active mask that an invocation recorded in a slot; return whether it executed the operation. */
static bool read_mask(const uint32_t *outputs, uint32_t slot, uint32_t invocation, uint32_t *mask)
{
    const uint32_t *executed = outputs + (RECORD_PLANES + 5 * slot) * INVOCATIONS + invocation;
    for (int word = 0; word < 4; ++word)
        mask[word] = executed[(word + 1) * INVOCATIONS];
    return *executed != 0;
}

/* Set `lanes` to the lanes of an invocation's subgroup that recorded the same mask. */
static void find_lanes(const uint32_t *outputs, uint32_t slot, uint32_t invocation, uint32_t *lanes)
{
    const uint32_t *subgroups = outputs + INVOCATIONS;
    uint32_t first = invocation / GROUP * GROUP, mask[4], other[4];
    read_mask(outputs, slot, invocation, mask);
    for (uint32_t i = first; i < first + GROUP && i < INVOCATIONS; ++i)
        if (subgroups[i] == subgroups[invocation] && read_mask(outputs, slot, i, other)
            && memcmp(mask, other, sizeof mask) == 0)
            lanes[outputs[i] / 32 & 3] |= (uint32_t)1 << outputs[i] % 32;
}

/* Return whether a mask names exactly the lanes that recorded it, and possibly lanes without a record. */
static bool is_right(const uint32_t *outputs, uint32_t invocation, const uint32_t *mask, const uint32_t *lanes)
{
    for (int word = 0; word < 4; ++word) {
        uint32_t unseen = DEMOTES ? UINT32_MAX : 0;
        if (HELPERS)
            unseen |= outputs[(3 + word) * INVOCATIONS + invocation];
        if ((lanes[word] & ~mask[word]) | (mask[word] & ~lanes[word] & ~unseen))
            return false;
    }
    return true;
}

/* Check the active masks of all invocations; return the exit code. */
static int compare(const uint32_t *outputs)
{
    uint32_t compared = 0, wrong = 0;
    for (uint32_t slot = 0; slot < SLOTS; ++slot)
        for (uint32_t invocation = 0; invocation < INVOCATIONS; ++invocation) {
            uint32_t mask[4], lanes[4] = {0, 0, 0, 0};
            if (!read_mask(outputs, slot, invocation, mask))
                continue;
            ++compared;
            find_lanes(outputs, slot, invocation, lanes);
            if (is_right(outputs, invocation, mask, lanes) || ++wrong > 4)
                continue;
            printf("subgroup %u lane %u: expected active mask ", (unsigned)outputs[INVOCATIONS + invocation],
                   (unsigned)outputs[invocation]);
            print_mask(lanes);
            printf(", the lanes that executed this together, got ");
            print_mask(mask);
            printf("\n");
        }
    printf("%s: %u active masks compared, %u wrong\n", device_name, (unsigned)compared, (unsigned)wrong);
    return compared == 0 || wrong != 0 ? WRONG : RIGHT;
}
