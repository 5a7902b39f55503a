/* Return the bits of a component of a value: components lie in words one after another, little endian. */
static uint64_t bits_of(struct type type, const uint32_t *words, int component)
{
    int at = type.bits * component;
    uint64_t value = words[at / 32] >> at % 32;
    if (type.bits == 64)
        return value | (uint64_t)words[at / 32 + 1] << 32;
    return value & (((uint64_t)1 << type.bits) - 1);
}

/* Return the value of a floating-point component, which a double has exactly. */
static double number_of(struct type type, const uint32_t *words, int component)
{
    uint64_t bits = bits_of(type, words, component);
    double number;
    if (type.bits == 16) {
        int exponent = (int)(bits >> 10 & 31);
        uint64_t fraction = bits & 1023, wide = exponent == 31 ? 2047 : (uint64_t)(exponent + 1008);
        number = (double)fraction / 16777216.0; /* zero or a denormal, in units of 2^-24 */
        if (exponent != 0) {
            wide = wide << 52 | fraction << 42;
            memcpy(&number, &wide, sizeof number);
        }
        return bits >> 15 ? -number : number;
    }
    if (type.bits == 32) {
        uint32_t word = (uint32_t)bits;
        float single;
        memcpy(&single, &word, sizeof single);
        return single;
    }
    memcpy(&number, &bits, sizeof number);
    return number;
}

static void print_value(struct type type, const uint32_t *words)
{
    for (int i = 0; i < type.components; ++i) {
        uint64_t bits = bits_of(type, words, i);
        int unused = 64 - type.bits;
        printf("%s", i ? ", " : type.components > 1 ? "(" : "");
        if (type.kind == 'f')
            printf("%.*g", type.bits == 64 ? 17 : type.bits == 32 ? 9 : 5, number_of(type, words, i));
        else if (type.kind == 'b' && bits < 2)
            printf("%s", bits ? "true" : "false");
        else if (type.kind == 'i')
            printf("%lld", (long long)((int64_t)(bits << unused) >> unused));
        else
            printf("%llu", (unsigned long long)bits);
    }
    printf("%s", type.components > 1 ? ")" : "");
}

/* Return whether a lane's result is allowed in every component that the specification defines. */
static bool is_right(const struct lane *lane, const uint32_t *got)
{
    for (int i = 0; i < result_type.components; ++i) {
        if (!(lane->defined >> i & 1))
            continue;
/*@COMPARE@*/    }
    return true;
}

static void print_lane(const struct instance *instance, int number, const uint32_t *got)
{
    const struct lane *lane = &instance->lanes[number];
    printf("%s lane %d active ", instance->where, number);
    print_mask(instance->mask);
/*@PRINT@*/    printf(" got ");
    print_value(result_type, got);
    printf("\n");
}

/* Return the recorded instance that an invocation was part of; NULL if the recorded device had none. */
static const struct instance *find_instance(const uint32_t *outputs, uint32_t invocation, uint32_t slot)
{
    const uint32_t *executed = outputs + (RECORD_PLANES + 5 * slot) * INVOCATIONS + invocation;
    uint32_t mask[4], lane = outputs[invocation];
    for (int word = 0; word < 4; ++word)
        mask[word] = executed[(word + 1) * INVOCATIONS];
    for (int i = 0; lane < SUBGROUP_SIZE && i < INSTANCES; ++i) {
        const struct instance *instance = &instances[i];
        if (instance->slot == slot && instance->number == outputs[NUMBER_PLANE * INVOCATIONS + invocation]
            && memcmp(instance->mask, mask, sizeof mask) == 0 && instance->lanes[lane].recorded/*@MEMBER@*/)
            return instance;
    }
    return NULL;
}

/* Compare the results of all invocations; return the exit code. */
static int compare(const uint32_t *outputs)
{
    uint32_t compared = 0, wrong = 0, unknown = 0;
    for (uint32_t slot = 0; slot < SLOTS; ++slot)
        for (uint32_t invocation = 0; invocation < INVOCATIONS; ++invocation) {
            uint32_t got[RESULT_WORDS];
            if (outputs[(RECORD_PLANES + 5 * slot) * INVOCATIONS + invocation] == 0)
                continue; /* it did not execute the operation */
            const struct instance *instance = find_instance(outputs, invocation, slot);
            if (instance == NULL) {
                ++unknown;
                continue;
            }
            ++compared;
            for (int word = 0; word < RESULT_WORDS; ++word)
                got[word] = outputs[RESULTS + (slot * RESULT_WORDS + word) * INVOCATIONS + invocation];
            if (!is_right(&instance->lanes[outputs[invocation]], got) && ++wrong <= 4)
                print_lane(instance, (int)outputs[invocation], got);
        }
    printf("%s: %u of %u results compared, %u wrong\n", device_name, (unsigned)compared, (unsigned)RECORDED,
           (unsigned)wrong);
    if (wrong != 0)
        return WRONG;
    if (unknown != 0)
        printf("%u invocations ran in other subgroups, or with other active lanes, than on the device of this\n"
               "file, so their results cannot be compared: vkgroup run FOLDER has the rules for them.\n",
               (unsigned)unknown);
    else if (compared < RECORDED)
        printf("Some invocations did not execute the operation.\n");
    return unknown != 0 ? CANNOT_RUN : compared < RECORDED ? WRONG : RIGHT;
}
