/* Repeats the case of a reproduction folder without vkgroup.
 *
 *     cc repro.c -lvulkan && ./a.out [DEVICE [FOLDER]]
 *
 * DEVICE is the index of a Vulkan device, by default 0, or a part of its name. FOLDER has the recipe (repro.txt)
 * and the files that the recipe names; by default it is the folder of this file when it was compiled.
 *
 * Exit code 0: the device is right, 1: it is wrong (the first wrong lanes are printed), 2: wrong usage or a
 * damaged folder, 3: the device cannot run the case: no such device, a missing feature, or other subgroups.
 */
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <vulkan/vulkan.h>

/* ---- Exit codes and errors ---- */

enum { RIGHT = 0, WRONG = 1, USAGE = 2, CANNOT_RUN = 3 };

static const char *device_name = "no device";

static void leave(int code, const char *what, const char *detail)
{
    fprintf(stderr, "%s: %s%s%s\n", device_name, what, detail[0] ? ": " : "", detail);
    exit(code);
}

/* A driver that rejects valid work or loses the device is wrong; one without memory cannot run the case. */
static void check(VkResult result, const char *what)
{
    char detail[32];
    if (result == VK_SUCCESS)
        return;
    snprintf(detail, sizeof detail, "VkResult %d", (int)result);
    leave(result == VK_ERROR_OUT_OF_HOST_MEMORY || result == VK_ERROR_OUT_OF_DEVICE_MEMORY ? CANNOT_RUN : WRONG,
          what, detail);
}

static void *allocate(size_t count, size_t size)
{
    void *memory = calloc(count ? count : 1, size);
    if (memory == NULL)
        leave(CANNOT_RUN, "out of memory", "");
    return memory;
}

/* ---- The recipe: lines of a key and its values; a line that begins with # is a comment ---- */

enum { MOST = 64, MOST_FEATURES = 128, TEXT = 512, MASK_WORDS = 4 };

/* Any struct of features: all have this form. */
struct features { VkStructureType sType; void *pNext; VkBool32 values[MOST_FEATURES]; };

struct feature { uint32_t structure, member; char name[TEXT]; };

/* An extension, and the version of Vulkan that contains it; 0 if none does. */
struct extension { uint32_t core; char name[TEXT]; };

struct shader { VkShaderStageFlagBits stage; bool tested; uint32_t *code; size_t size; };

/* A storage buffer with its initial content, later with the memory that the device writes. */
struct binding { uint32_t number; uint32_t *content; size_t size; };

/* A GLSL type: 'f'loat, 'i'nt, 'u'int, 'b'ool (8 bits a component), or a 'm'ask of lanes; 0: absent. */
struct type { char kind; uint32_t bits, components, words; };

/* What a lane fed into the operation and what is required of it. `defined` has the components that the
 * specification defines, component 0 in bit 0. Bounds are the least and the greatest values, one after another. */
struct lane { bool recorded; uint32_t invocation, defined, *input, *operand, *expected; double *bounds; };

/* One execution of the operation by a subgroup: place in the shader, number of the subgroup, active mask. */
struct instance { uint32_t slot, number, mask[MASK_WORDS]; char where[TEXT]; struct lane *lanes; };

static struct {
    uint32_t instance_version, device_version, queue, stages, operations;
    uint32_t size, size_is_required; /* of subgroups */
    uint32_t groups[3], draws, width, height, vertices, draw_instances, topology;
    uint32_t outputs;                /* index of the binding with the results */
    /* Layout of the outputs: words of a plane; planes of lane, subgroup, …, before 5 for each slot; places of the
     * operation in the shader. */
    uint32_t invocations, record_planes, slots;
    /* Whether active masks are compared, and not results; invocations of a workgroup (all outside of compute);
     * whether invocations become helper invocations; whether planes 3 to 6 name the helper invocations. */
    uint32_t masks, group, demotes, helpers;
    /* Plane with the number of the subgroup; first word of the results; whether an instance is of the same
     * invocations; how results are compared: "range", "bits", or "numbers" (-0 equals 0, any NaN any other). */
    uint32_t number_plane, results, same_invocation;
    char comparison[TEXT];
    struct type result, input, operand;
    uint32_t instances, recorded;
    struct instance *instance;
    uint32_t structures, types[MOST]; /* structs of features; the first one is VkPhysicalDeviceFeatures2 */
    uint32_t features, extensions, shaders, constants, bindings;
    struct feature feature[MOST];
    struct extension extension[MOST];
    struct shader shader[MOST];
    VkSpecializationMapEntry constant[MOST];
    uint32_t value[MOST];
    struct binding binding[MOST];
} recipe;

static char folder[4096];

static FILE *open_file(const char *name)
{
    char path[sizeof folder + TEXT];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    FILE *file = fopen(path, "rb");
    if (file == NULL)
        leave(USAGE, "the file cannot be read", path);
    return file;
}

/* Return the words of a file; the header of an .npy file is left out. */
static uint32_t *read_words(const char *name, size_t *size)
{
    FILE *file = open_file(name);
    fseek(file, 0, SEEK_END);
    size_t length = (size_t)ftell(file), start = 0;
    unsigned char *bytes = allocate(length + 4, 1);
    rewind(file);
    if (fread(bytes, 1, length, file) != length)
        leave(USAGE, "the file cannot be read", name);
    fclose(file);
    if (length > 12 && memcmp(bytes, "\x93NUMPY", 6) == 0)
        start = bytes[6] == 1 ? 10u + bytes[8] + 256u * bytes[9]
                              : 12u + bytes[8] + 256u * bytes[9] + 65536u * bytes[10] + 16777216u * bytes[11];
    if (start > length)
        leave(USAGE, "the file is damaged", name);
    *size = (length - start + 3) / 4 * 4;
    memmove(bytes, bytes + start, length - start);
    memset(bytes + length - start, 0, 3);
    return (uint32_t *)(void *)bytes;
}

static void read_text(FILE *file, char *text)
{
    if (fscanf(file, "%511s", text) != 1)
        leave(USAGE, "repro.txt ends early", "");
}

static uint32_t read_number(FILE *file)
{
    char text[TEXT];
    read_text(file, text);
    return (uint32_t)strtoul(text, NULL, 0);
}

static void read_numbers(FILE *file, uint32_t *numbers, uint32_t count)
{
    for (uint32_t i = 0; i < count; ++i)
        numbers[i] = read_number(file);
}

static uint32_t *read_array(FILE *file, uint32_t count)
{
    uint32_t *numbers = allocate(count, sizeof *numbers);
    read_numbers(file, numbers, count);
    return numbers;
}

/* Return the index of a new element of an array of the recipe. */
static uint32_t add(uint32_t *count)
{
    if (*count == MOST)
        leave(USAGE, "repro.txt has too many lines of a kind", "");
    return (*count)++;
}

static struct type read_type(FILE *file)
{
    char kind[TEXT];
    read_text(file, kind);
    struct type type = {.kind = kind[0]};
    type.bits = read_number(file);
    type.components = read_number(file);
    type.words = read_number(file);
    return type;
}

static void read_lane(FILE *file, struct lane *lane)
{
    char text[TEXT];
    bool range = strcmp(recipe.comparison, "range") == 0;
    lane->recorded = read_number(file) != 0;
    lane->invocation = read_number(file);
    lane->defined = read_number(file);
    lane->input = read_array(file, recipe.input.words);
    lane->operand = read_array(file, recipe.operand.words);
    lane->expected = read_array(file, range ? 0 : recipe.result.words);
    lane->bounds = allocate(2 * recipe.result.components, sizeof *lane->bounds);
    for (uint32_t i = 0; range && i < 2 * recipe.result.components; ++i) {
        read_text(file, text);
        lane->bounds[i] = strtod(text, NULL);
    }
    recipe.recorded += lane->recorded;
}

static void read_instances(FILE *file)
{
    recipe.instances = read_number(file);
    recipe.instance = allocate(recipe.instances, sizeof *recipe.instance);
    for (uint32_t i = 0; i < recipe.instances; ++i) {
        struct instance *instance = &recipe.instance[i];
        instance->slot = read_number(file);
        instance->number = read_number(file);
        read_numbers(file, instance->mask, MASK_WORDS);
        if (fscanf(file, " %511[^\n]", instance->where) != 1)
            leave(USAGE, "repro.txt ends early", "");
        instance->lanes = allocate(recipe.size, sizeof *instance->lanes);
        for (uint32_t lane = 0; lane < recipe.size; ++lane)
            read_lane(file, &instance->lanes[lane]);
    }
}

/* Read the values of a line that adds an element to an array; return whether the key is of such a line. */
static bool read_element(FILE *file, const char *key)
{
    char name[TEXT];
    if (strcmp(key, "extension") == 0) {
        struct extension *extension = &recipe.extension[add(&recipe.extensions)];
        extension->core = read_number(file);
        read_text(file, extension->name);
    } else if (strcmp(key, "features") == 0) {
        uint32_t number = add(&recipe.structures);
        recipe.types[number] = read_number(file);
    } else if (strcmp(key, "feature") == 0) {
        struct feature *feature = &recipe.feature[add(&recipe.features)];
        feature->structure = recipe.structures - 1;
        feature->member = read_number(file);
        read_text(file, feature->name);
        if (recipe.structures == 0 || feature->member >= MOST_FEATURES)
            leave(USAGE, "repro.txt has no such feature", feature->name);
    } else if (strcmp(key, "shader") == 0) {
        struct shader *shader = &recipe.shader[add(&recipe.shaders)];
        shader->stage = (VkShaderStageFlagBits)read_number(file);
        shader->tested = read_number(file) != 0;
        read_text(file, name);
        shader->code = read_words(name, &shader->size);
    } else if (strcmp(key, "constant") == 0) {
        uint32_t number = add(&recipe.constants);
        recipe.constant[number] = (VkSpecializationMapEntry){read_number(file), 4 * number, 4};
        recipe.value[number] = read_number(file);
    } else if (strcmp(key, "binding") == 0) {
        struct binding *binding = &recipe.binding[add(&recipe.bindings)];
        binding->number = read_number(file);
        read_text(file, name);
        binding->content = read_words(name, &binding->size);
    } else {
        return false;
    }
    return true;
}

/* Lines with one number. */
static const struct { const char *key; uint32_t *number; } numbers[] = {
    {"instance_version", &recipe.instance_version}, {"device_version", &recipe.device_version},
    {"queue", &recipe.queue}, {"stages", &recipe.stages}, {"operations", &recipe.operations},
    {"subgroup_size", &recipe.size}, {"size_is_required", &recipe.size_is_required},
    {"groups_x", &recipe.groups[0]}, {"groups_y", &recipe.groups[1]}, {"groups_z", &recipe.groups[2]},
    {"draws", &recipe.draws}, {"width", &recipe.width}, {"height", &recipe.height},
    {"vertices", &recipe.vertices}, {"draw_instances", &recipe.draw_instances}, {"topology", &recipe.topology},
    {"outputs", &recipe.outputs}, {"invocations", &recipe.invocations},
    {"record_planes", &recipe.record_planes}, {"slots", &recipe.slots},
    {"masks", &recipe.masks}, {"group", &recipe.group}, {"demotes", &recipe.demotes},
    {"helpers", &recipe.helpers}, {"number_plane", &recipe.number_plane}, {"results", &recipe.results},
    {"same_invocation", &recipe.same_invocation},
};

static void read_line(FILE *file, const char *key)
{
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; ++i)
        if (strcmp(key, numbers[i].key) == 0) {
            *numbers[i].number = read_number(file);
            return;
        }
    if (key[0] == '#')
        for (int letter = 0; letter != '\n' && letter != EOF;)
            letter = fgetc(file);
    else if (strcmp(key, "comparison") == 0)
        read_text(file, recipe.comparison);
    else if (strcmp(key, "result") == 0)
        recipe.result = read_type(file);
    else if (strcmp(key, "input") == 0)
        recipe.input = read_type(file);
    else if (strcmp(key, "operand") == 0)
        recipe.operand = read_type(file);
    else if (strcmp(key, "instances") == 0)
        read_instances(file);
    else if (!read_element(file, key))
        leave(USAGE, "repro.txt has an unknown key", key);
}

static void read_recipe(void)
{
    char key[TEXT];
    FILE *file = open_file("repro.txt");
    while (fscanf(file, "%511s", key) == 1)
        read_line(file, key);
    fclose(file);
    if (recipe.structures == 0 || recipe.shaders == 0 || recipe.outputs >= recipe.bindings)
        leave(USAGE, "repro.txt is incomplete", "");
}

/* ---- Device: chosen by its index or by a part of its name, with exactly the required features ---- */

static VkPhysicalDevice physical;
static VkDevice device;
static VkQueue queue;
static uint32_t family;

static VkInstance create_instance(void)
{
    VkApplicationInfo application = {
        .sType = VK_STRUCTURE_TYPE_APPLICATION_INFO, .apiVersion = recipe.instance_version};
    VkInstanceCreateInfo info = {.sType = VK_STRUCTURE_TYPE_INSTANCE_CREATE_INFO, .pApplicationInfo = &application};
    VkInstance instance;
    if (vkCreateInstance(&info, NULL, &instance) != VK_SUCCESS)
        leave(CANNOT_RUN, "vkCreateInstance failed", "is a Vulkan driver installed?");
    return instance;
}

static void choose_device(VkInstance instance, const char *wanted)
{
    uint32_t count = 0;
    char *end = NULL;
    unsigned long number = wanted ? strtoul(wanted, &end, 10) : 0;
    bool by_index = wanted == NULL || (*wanted != '\0' && *end == '\0');
    static VkPhysicalDeviceProperties properties;
    vkEnumeratePhysicalDevices(instance, &count, NULL);
    VkPhysicalDevice *devices = allocate(count, sizeof *devices);
    vkEnumeratePhysicalDevices(instance, &count, devices);
    for (uint32_t i = 0; i < count && physical == VK_NULL_HANDLE; ++i) {
        vkGetPhysicalDeviceProperties(devices[i], &properties);
        if (by_index ? i == number : strstr(properties.deviceName, wanted) != NULL)
            physical = devices[i];
    }
    free(devices);
    if (physical == VK_NULL_HANDLE)
        leave(CANNOT_RUN, "there is no such Vulkan device", wanted ? wanted : "");
    device_name = properties.deviceName;
    if (properties.apiVersion < recipe.device_version)
        leave(CANNOT_RUN, "the device's version of Vulkan is too old", "");
}

static bool has_extension(const VkExtensionProperties *extensions, uint32_t count, const char *name)
{
    for (uint32_t i = 0; i < count; ++i)
        if (strcmp(extensions[i].extensionName, name) == 0)
            return true;
    return false;
}

/* Set `enabled` to the required extensions and return their number. One that the device's version of
 * Vulkan contains is left out where the device does not list it. */
static uint32_t find_extensions(const char **enabled)
{
    uint32_t count = 0, found = 0;
    VkPhysicalDeviceProperties properties;
    vkGetPhysicalDeviceProperties(physical, &properties);
    vkEnumerateDeviceExtensionProperties(physical, NULL, &count, NULL);
    VkExtensionProperties *extensions = allocate(count, sizeof *extensions);
    vkEnumerateDeviceExtensionProperties(physical, NULL, &count, extensions);
    for (uint32_t i = 0; i < recipe.extensions; ++i) {
        const struct extension *needed = &recipe.extension[i];
        if (has_extension(extensions, count, needed->name))
            enabled[found++] = needed->name;
        else if (needed->core == 0 || properties.apiVersion < needed->core)
            leave(CANNOT_RUN, "the device lacks", needed->name);
    }
    free(extensions);
    return found;
}

/* Check what the device declares about subgroups. */
static void check_subgroups(void)
{
    VkPhysicalDeviceSubgroupSizeControlProperties sizes = {
        .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SUBGROUP_SIZE_CONTROL_PROPERTIES};
    VkPhysicalDeviceSubgroupProperties subgroup = {
        .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SUBGROUP_PROPERTIES,
        .pNext = recipe.size_is_required ? &sizes : NULL};
    VkPhysicalDeviceProperties2 properties = {
        .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PROPERTIES_2, .pNext = &subgroup};
    VkShaderStageFlags tested = 0;
    for (uint32_t i = 0; i < recipe.shaders; ++i)
        if (recipe.shader[i].tested)
            tested |= recipe.shader[i].stage;
    vkGetPhysicalDeviceProperties2(physical, &properties);
    if ((subgroup.supportedStages & recipe.stages) != recipe.stages)
        leave(CANNOT_RUN, "supportedStages lacks the stage of the shader", "");
    if ((subgroup.supportedOperations & recipe.operations) != recipe.operations)
        leave(CANNOT_RUN, "supportedOperations lacks operations of the shader", "");
    if (!recipe.size_is_required && subgroup.subgroupSize != recipe.size)
        leave(CANNOT_RUN, "the subgroup size differs from that of the folder",
              "vkgroup run FOLDER makes the shader for other sizes");
    if (recipe.size_is_required
        && (recipe.size < sizes.minSubgroupSize || recipe.size > sizes.maxSubgroupSize
            || (sizes.requiredSubgroupSizeStages & tested) != tested))
        leave(CANNOT_RUN, "the device cannot require this subgroup size", "");
}

static void choose_queue(void)
{
    uint32_t count = 0;
    vkGetPhysicalDeviceQueueFamilyProperties(physical, &count, NULL);
    VkQueueFamilyProperties *families = allocate(count, sizeof *families);
    vkGetPhysicalDeviceQueueFamilyProperties(physical, &count, families);
    for (family = 0; family < count && (families[family].queueFlags & recipe.queue) != recipe.queue;)
        ++family;
    free(families);
    if (family == count)
        leave(CANNOT_RUN, "no queue can execute the case", "");
}

/* Return the structs of features, chained and empty. */
static struct features *chained_features(void)
{
    struct features *features = allocate(recipe.structures, sizeof *features);
    for (uint32_t i = 0; i < recipe.structures; ++i) {
        features[i].sType = (VkStructureType)recipe.types[i];
        features[i].pNext = i + 1 < recipe.structures ? &features[i + 1] : NULL;
    }
    return features;
}

static void create_device(void)
{
    const char *enabled[MOST];
    const float priority = 1.0f;
    uint32_t extensions = find_extensions(enabled);
    struct features *available = chained_features(), *wanted = chained_features();
    vkGetPhysicalDeviceFeatures2(physical, (VkPhysicalDeviceFeatures2 *)(void *)available);
    for (uint32_t i = 0; i < recipe.features; ++i) {
        const struct feature *needed = &recipe.feature[i];
        if (!available[needed->structure].values[needed->member])
            leave(CANNOT_RUN, "the device lacks", needed->name);
        wanted[needed->structure].values[needed->member] = VK_TRUE;
    }
    check_subgroups();
    choose_queue();
    VkDeviceQueueCreateInfo queues = {
        .sType = VK_STRUCTURE_TYPE_DEVICE_QUEUE_CREATE_INFO,
        .queueFamilyIndex = family, .queueCount = 1, .pQueuePriorities = &priority};
    VkDeviceCreateInfo info = {
        .sType = VK_STRUCTURE_TYPE_DEVICE_CREATE_INFO, .pNext = wanted,
        .queueCreateInfoCount = 1, .pQueueCreateInfos = &queues,
        .enabledExtensionCount = extensions, .ppEnabledExtensionNames = enabled};
    if (vkCreateDevice(physical, &info, NULL, &device) != VK_SUCCESS)
        leave(CANNOT_RUN, "vkCreateDevice failed", "");
    vkGetDeviceQueue(device, family, 0, &queue);
}

/* ---- Storage buffers in memory of the host, and their descriptors ---- */

static VkDescriptorSetLayout set_layout;
static VkDescriptorSet set;
static VkPipelineLayout pipeline_layout;

static uint32_t host_memory(uint32_t allowed)
{
    const VkMemoryPropertyFlags flags = VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT | VK_MEMORY_PROPERTY_HOST_COHERENT_BIT;
    VkPhysicalDeviceMemoryProperties memory;
    vkGetPhysicalDeviceMemoryProperties(physical, &memory);
    for (uint32_t i = 0; i < memory.memoryTypeCount; ++i)
        if ((allowed >> i & 1) && (memory.memoryTypes[i].propertyFlags & flags) == flags)
            return i;
    leave(CANNOT_RUN, "no memory for buffers", "");
    return 0;
}

/* Create the buffer of a binding with its initial content, which becomes the memory of the buffer. */
static VkBuffer create_buffer(struct binding *binding)
{
    VkBufferCreateInfo info = {
        .sType = VK_STRUCTURE_TYPE_BUFFER_CREATE_INFO,
        .size = binding->size, .usage = VK_BUFFER_USAGE_STORAGE_BUFFER_BIT};
    VkBuffer buffer;
    VkDeviceMemory memory;
    VkMemoryRequirements needs;
    void *mapped;
    check(vkCreateBuffer(device, &info, NULL, &buffer), "vkCreateBuffer");
    vkGetBufferMemoryRequirements(device, buffer, &needs);
    VkMemoryAllocateInfo allocation = {
        .sType = VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_INFO,
        .allocationSize = needs.size, .memoryTypeIndex = host_memory(needs.memoryTypeBits)};
    check(vkAllocateMemory(device, &allocation, NULL, &memory), "vkAllocateMemory");
    check(vkBindBufferMemory(device, buffer, memory, 0), "vkBindBufferMemory");
    check(vkMapMemory(device, memory, 0, VK_WHOLE_SIZE, 0, &mapped), "vkMapMemory");
    memcpy(mapped, binding->content, binding->size);
    free(binding->content);
    binding->content = mapped;
    return buffer;
}

static void create_descriptors(void)
{
    VkDescriptorSetLayoutBinding layouts[MOST];
    VkDescriptorPoolSize size = {.type = VK_DESCRIPTOR_TYPE_STORAGE_BUFFER, .descriptorCount = recipe.bindings};
    VkDescriptorPool pool;
    for (uint32_t i = 0; i < recipe.bindings; ++i)
        layouts[i] = (VkDescriptorSetLayoutBinding){
            .binding = recipe.binding[i].number, .descriptorType = VK_DESCRIPTOR_TYPE_STORAGE_BUFFER,
            .descriptorCount = 1, .stageFlags = VK_SHADER_STAGE_ALL};
    VkDescriptorSetLayoutCreateInfo layout = {
        .sType = VK_STRUCTURE_TYPE_DESCRIPTOR_SET_LAYOUT_CREATE_INFO,
        .bindingCount = recipe.bindings, .pBindings = layouts};
    check(vkCreateDescriptorSetLayout(device, &layout, NULL, &set_layout), "vkCreateDescriptorSetLayout");
    VkDescriptorPoolCreateInfo pools = {
        .sType = VK_STRUCTURE_TYPE_DESCRIPTOR_POOL_CREATE_INFO,
        .maxSets = 1, .poolSizeCount = 1, .pPoolSizes = &size};
    check(vkCreateDescriptorPool(device, &pools, NULL, &pool), "vkCreateDescriptorPool");
    VkDescriptorSetAllocateInfo allocation = {
        .sType = VK_STRUCTURE_TYPE_DESCRIPTOR_SET_ALLOCATE_INFO,
        .descriptorPool = pool, .descriptorSetCount = 1, .pSetLayouts = &set_layout};
    check(vkAllocateDescriptorSets(device, &allocation, &set), "vkAllocateDescriptorSets");
    for (uint32_t i = 0; i < recipe.bindings; ++i) {
        VkDescriptorBufferInfo buffer = {.buffer = create_buffer(&recipe.binding[i]), .range = VK_WHOLE_SIZE};
        VkWriteDescriptorSet write = {
            .sType = VK_STRUCTURE_TYPE_WRITE_DESCRIPTOR_SET, .dstSet = set, .dstBinding = recipe.binding[i].number,
            .descriptorCount = 1, .descriptorType = VK_DESCRIPTOR_TYPE_STORAGE_BUFFER, .pBufferInfo = &buffer};
        vkUpdateDescriptorSets(device, 1, &write, 0, NULL);
    }
    VkPipelineLayoutCreateInfo pipeline = {
        .sType = VK_STRUCTURE_TYPE_PIPELINE_LAYOUT_CREATE_INFO, .setLayoutCount = 1, .pSetLayouts = &set_layout};
    check(vkCreatePipelineLayout(device, &pipeline, NULL, &pipeline_layout), "vkCreatePipelineLayout");
}

/* ---- Pipelines and commands ---- */

/* Set `stages` to the shaders of the pipeline. The tested one has the constants and the subgroup size. */
static void create_shaders(VkPipelineShaderStageCreateInfo *stages)
{
    static VkSpecializationInfo constants;
    static VkPipelineShaderStageRequiredSubgroupSizeCreateInfo size = {
        .sType = VK_STRUCTURE_TYPE_PIPELINE_SHADER_STAGE_REQUIRED_SUBGROUP_SIZE_CREATE_INFO};
    constants = (VkSpecializationInfo){recipe.constants, recipe.constant, sizeof recipe.value, recipe.value};
    size.requiredSubgroupSize = recipe.size;
    for (uint32_t i = 0; i < recipe.shaders; ++i) {
        const struct shader *shader = &recipe.shader[i];
        VkShaderModuleCreateInfo info = {
            .sType = VK_STRUCTURE_TYPE_SHADER_MODULE_CREATE_INFO, .codeSize = shader->size, .pCode = shader->code};
        stages[i] = (VkPipelineShaderStageCreateInfo){
            .sType = VK_STRUCTURE_TYPE_PIPELINE_SHADER_STAGE_CREATE_INFO, .stage = shader->stage, .pName = "main",
            .pNext = shader->tested && recipe.size_is_required ? &size : NULL,
            .pSpecializationInfo = shader->tested && recipe.constants ? &constants : NULL};
        check(vkCreateShaderModule(device, &info, NULL, &stages[i].module), "vkCreateShaderModule");
    }
}

static void record_dispatch(VkCommandBuffer commands)
{
    VkPipeline pipeline;
    VkPipelineShaderStageCreateInfo stages[MOST];
    create_shaders(stages);
    VkComputePipelineCreateInfo info = {
        .sType = VK_STRUCTURE_TYPE_COMPUTE_PIPELINE_CREATE_INFO, .stage = stages[0], .layout = pipeline_layout};
    check(vkCreateComputePipelines(device, VK_NULL_HANDLE, 1, &info, NULL, &pipeline), "vkCreateComputePipelines");
    vkCmdBindPipeline(commands, VK_PIPELINE_BIND_POINT_COMPUTE, pipeline);
    vkCmdBindDescriptorSets(commands, VK_PIPELINE_BIND_POINT_COMPUTE, pipeline_layout, 0, 1, &set, 0, NULL);
    vkCmdDispatch(commands, recipe.groups[0], recipe.groups[1], recipe.groups[2]);
}

/* The shaders write to buffers, so the render pass has no attachments. */
static VkRenderPass create_render_pass(void)
{
    VkSubpassDescription subpass = {.pipelineBindPoint = VK_PIPELINE_BIND_POINT_GRAPHICS};
    VkRenderPassCreateInfo info = {
        .sType = VK_STRUCTURE_TYPE_RENDER_PASS_CREATE_INFO, .subpassCount = 1, .pSubpasses = &subpass};
    VkRenderPass render_pass;
    check(vkCreateRenderPass(device, &info, NULL, &render_pass), "vkCreateRenderPass");
    return render_pass;
}

static VkPipeline create_graphics_pipeline(VkRenderPass render_pass)
{
    VkPipelineShaderStageCreateInfo stages[MOST];
    create_shaders(stages);
    VkPipelineVertexInputStateCreateInfo input = {
        .sType = VK_STRUCTURE_TYPE_PIPELINE_VERTEX_INPUT_STATE_CREATE_INFO};
    VkPipelineInputAssemblyStateCreateInfo assembly = {
        .sType = VK_STRUCTURE_TYPE_PIPELINE_INPUT_ASSEMBLY_STATE_CREATE_INFO,
        .topology = (VkPrimitiveTopology)recipe.topology};
    VkViewport viewport = {.width = (float)recipe.width, .height = (float)recipe.height, .maxDepth = 1.0f};
    VkRect2D scissor = {.extent = {recipe.width, recipe.height}};
    VkPipelineViewportStateCreateInfo area = {
        .sType = VK_STRUCTURE_TYPE_PIPELINE_VIEWPORT_STATE_CREATE_INFO,
        .viewportCount = 1, .pViewports = &viewport, .scissorCount = 1, .pScissors = &scissor};
    VkPipelineRasterizationStateCreateInfo rasterization = {
        .sType = VK_STRUCTURE_TYPE_PIPELINE_RASTERIZATION_STATE_CREATE_INFO, .lineWidth = 1.0f};
    VkPipelineMultisampleStateCreateInfo samples = {
        .sType = VK_STRUCTURE_TYPE_PIPELINE_MULTISAMPLE_STATE_CREATE_INFO,
        .rasterizationSamples = VK_SAMPLE_COUNT_1_BIT};
    VkGraphicsPipelineCreateInfo info = {
        .sType = VK_STRUCTURE_TYPE_GRAPHICS_PIPELINE_CREATE_INFO,
        .stageCount = recipe.shaders, .pStages = stages, .pVertexInputState = &input, .pInputAssemblyState = &assembly,
        .pViewportState = &area, .pRasterizationState = &rasterization, .pMultisampleState = &samples,
        .layout = pipeline_layout, .renderPass = render_pass};
    VkPipeline pipeline;
    check(vkCreateGraphicsPipelines(device, VK_NULL_HANDLE, 1, &info, NULL, &pipeline), "vkCreateGraphicsPipelines");
    return pipeline;
}

static void record_draw(VkCommandBuffer commands)
{
    VkRenderPass render_pass = create_render_pass();
    VkExtent2D extent = {recipe.width, recipe.height};
    VkFramebufferCreateInfo framebuffers = {
        .sType = VK_STRUCTURE_TYPE_FRAMEBUFFER_CREATE_INFO,
        .renderPass = render_pass, .width = extent.width, .height = extent.height, .layers = 1};
    VkFramebuffer framebuffer;
    check(vkCreateFramebuffer(device, &framebuffers, NULL, &framebuffer), "vkCreateFramebuffer");
    VkRenderPassBeginInfo begin = {
        .sType = VK_STRUCTURE_TYPE_RENDER_PASS_BEGIN_INFO, .renderPass = render_pass,
        .framebuffer = framebuffer, .renderArea = {.extent = extent}};
    vkCmdBindPipeline(commands, VK_PIPELINE_BIND_POINT_GRAPHICS, create_graphics_pipeline(render_pass));
    vkCmdBindDescriptorSets(commands, VK_PIPELINE_BIND_POINT_GRAPHICS, pipeline_layout, 0, 1, &set, 0, NULL);
    vkCmdBeginRenderPass(commands, &begin, VK_SUBPASS_CONTENTS_INLINE);
    vkCmdDraw(commands, recipe.vertices, recipe.draw_instances, 0, 0);
    vkCmdEndRenderPass(commands);
}

/* Execute the command and wait for its end. */
static void run(void)
{
    VkCommandPoolCreateInfo pools = {.sType = VK_STRUCTURE_TYPE_COMMAND_POOL_CREATE_INFO, .queueFamilyIndex = family};
    VkCommandPool pool;
    VkCommandBuffer commands;
    VkFenceCreateInfo fences = {.sType = VK_STRUCTURE_TYPE_FENCE_CREATE_INFO};
    VkFence fence;
    check(vkCreateCommandPool(device, &pools, NULL, &pool), "vkCreateCommandPool");
    VkCommandBufferAllocateInfo allocation = {
        .sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_ALLOCATE_INFO, .commandPool = pool, .commandBufferCount = 1};
    check(vkAllocateCommandBuffers(device, &allocation, &commands), "vkAllocateCommandBuffers");
    VkCommandBufferBeginInfo begin = {.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO};
    check(vkBeginCommandBuffer(commands, &begin), "vkBeginCommandBuffer");
    (recipe.draws ? record_draw : record_dispatch)(commands);
    VkMemoryBarrier barrier = {
        .sType = VK_STRUCTURE_TYPE_MEMORY_BARRIER,
        .srcAccessMask = VK_ACCESS_SHADER_WRITE_BIT, .dstAccessMask = VK_ACCESS_HOST_READ_BIT};
    vkCmdPipelineBarrier(commands, VK_PIPELINE_STAGE_ALL_COMMANDS_BIT, VK_PIPELINE_STAGE_HOST_BIT, 0, 1, &barrier,
                         0, NULL, 0, NULL);
    check(vkEndCommandBuffer(commands), "vkEndCommandBuffer");
    check(vkCreateFence(device, &fences, NULL, &fence), "vkCreateFence");
    VkSubmitInfo submit = {
        .sType = VK_STRUCTURE_TYPE_SUBMIT_INFO, .commandBufferCount = 1, .pCommandBuffers = &commands};
    check(vkQueueSubmit(queue, 1, &submit, fence), "vkQueueSubmit");
    check(vkWaitForFences(device, 1, &fence, VK_TRUE, 20000000000u), "no end within 20 s");
}

/* ---- Records in the outputs ---- */

/* Read the active mask that an invocation recorded in a slot; return whether it executed the operation. */
static bool read_mask(const uint32_t *outputs, uint32_t slot, uint32_t invocation, uint32_t *mask)
{
    const uint32_t *executed = outputs + (recipe.record_planes + 5 * slot) * recipe.invocations + invocation;
    for (int word = 0; word < MASK_WORDS; ++word)
        mask[word] = executed[(word + 1) * recipe.invocations];
    return *executed != 0;
}

static void print_mask(const uint32_t *mask)
{
    int word = MASK_WORDS - 1;
    while (word > 0 && mask[word] == 0)
        --word;
    printf("0x%x", (unsigned)mask[word]);
    while (word-- > 0)
        printf("%08x", (unsigned)mask[word]);
}

/* ---- Comparison of active masks ---- */

/* Set `lanes` to the lanes of an invocation's subgroup that recorded the same mask. */
static void find_lanes(const uint32_t *outputs, uint32_t slot, uint32_t invocation, uint32_t *lanes)
{
    const uint32_t *subgroups = outputs + recipe.invocations;
    uint32_t first = invocation / recipe.group * recipe.group, mask[MASK_WORDS], other[MASK_WORDS];
    read_mask(outputs, slot, invocation, mask);
    for (uint32_t i = first; i < first + recipe.group && i < recipe.invocations; ++i)
        if (subgroups[i] == subgroups[invocation] && read_mask(outputs, slot, i, other)
            && memcmp(mask, other, sizeof mask) == 0)
            lanes[outputs[i] / 32 & 3] |= (uint32_t)1 << outputs[i] % 32;
}

/* Return whether a mask names exactly the lanes that recorded it, and possibly lanes without a record. */
static bool is_right_mask(const uint32_t *outputs, uint32_t invocation, const uint32_t *mask, const uint32_t *lanes)
{
    for (int word = 0; word < MASK_WORDS; ++word) {
        uint32_t unseen = recipe.demotes ? UINT32_MAX : 0;
        if (recipe.helpers)
            unseen |= outputs[(3 + word) * recipe.invocations + invocation];
        if ((lanes[word] & ~mask[word]) | (mask[word] & ~lanes[word] & ~unseen))
            return false;
    }
    return true;
}

/* Check the active masks of all invocations; return the exit code. */
static int compare_masks(const uint32_t *outputs)
{
    uint32_t compared = 0, wrong = 0;
    for (uint32_t slot = 0; slot < recipe.slots; ++slot)
        for (uint32_t invocation = 0; invocation < recipe.invocations; ++invocation) {
            uint32_t mask[MASK_WORDS], lanes[MASK_WORDS] = {0};
            if (!read_mask(outputs, slot, invocation, mask))
                continue;
            ++compared;
            find_lanes(outputs, slot, invocation, lanes);
            if (is_right_mask(outputs, invocation, mask, lanes) || ++wrong > 4)
                continue;
            printf("subgroup %u lane %u: expected active mask ", (unsigned)outputs[recipe.invocations + invocation],
                   (unsigned)outputs[invocation]);
            print_mask(lanes);
            printf(", the lanes that executed this together, got ");
            print_mask(mask);
            printf("\n");
        }
    printf("%s: %u active masks compared, %u wrong\n", device_name, (unsigned)compared, (unsigned)wrong);
    return compared == 0 || wrong != 0 ? WRONG : RIGHT;
}

/* ---- Comparison of results ---- */

/* Return the bits of a component of a value: components lie in words one after another, little endian. */
static uint64_t bits_of(struct type type, const uint32_t *words, uint32_t component)
{
    uint32_t at = type.bits * component;
    uint64_t value = words[at / 32] >> at % 32;
    if (type.bits == 64)
        return value | (uint64_t)words[at / 32 + 1] << 32;
    return value & (((uint64_t)1 << type.bits) - 1);
}

/* Return the value of a component as a double, which has every float exactly. */
static double number_of(struct type type, const uint32_t *words, uint32_t component)
{
    uint64_t bits = bits_of(type, words, component);
    double number;
    if (type.bits == 16) {
        uint32_t exponent = bits >> 10 & 31;
        uint64_t fraction = bits & 1023, wide = exponent == 31 ? 2047 : exponent + 1008;
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
    if (type.kind == 'm') {
        print_mask(words);
        return;
    }
    for (uint32_t i = 0; i < type.components; ++i) {
        uint64_t bits = bits_of(type, words, i);
        uint32_t unused = 64 - type.bits;
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

static bool is_right_component(const struct lane *lane, const uint32_t *got, uint32_t component)
{
    if (strcmp(recipe.comparison, "bits") == 0)
        return bits_of(recipe.result, got, component) == bits_of(recipe.result, lane->expected, component);
    double number = number_of(recipe.result, got, component);
    if (strcmp(recipe.comparison, "range") == 0)
        return number >= lane->bounds[component] && number <= lane->bounds[recipe.result.components + component];
    double expected = number_of(recipe.result, lane->expected, component);
    return number == expected || (number != number && expected != expected);
}

/* Return whether a lane's result is allowed in every component that the specification defines. */
static bool is_right_result(const struct lane *lane, const uint32_t *got)
{
    for (uint32_t i = 0; i < recipe.result.components; ++i)
        if ((lane->defined >> i & 1) && !is_right_component(lane, got, i))
            return false;
    return true;
}

static void print_lane(const struct instance *instance, uint32_t number, const uint32_t *got)
{
    const struct lane *lane = &instance->lanes[number];
    const uint32_t count = recipe.result.components;
    printf("%s lane %u active ", instance->where, (unsigned)number);
    print_mask(instance->mask);
    if (recipe.input.kind) {
        printf(" input ");
        print_value(recipe.input, lane->input);
    }
    if (recipe.operand.kind) {
        printf(" operand ");
        print_value(recipe.operand, lane->operand);
    }
    printf(" expected ");
    for (uint32_t i = 0; strcmp(recipe.comparison, "range") == 0 && i < count; ++i)
        printf("%s%.9g ... %.9g", i ? ", " : "", lane->bounds[i], lane->bounds[count + i]);
    if (strcmp(recipe.comparison, "range") != 0)
        print_value(recipe.result, lane->expected);
    printf(" got ");
    print_value(recipe.result, got);
    printf("\n");
}

/* Return the recorded instance that an invocation was part of; NULL if the recorded device had none. */
static const struct instance *find_instance(const uint32_t *outputs, uint32_t slot, uint32_t invocation)
{
    uint32_t mask[MASK_WORDS], lane = outputs[invocation];
    uint32_t number = outputs[recipe.number_plane * recipe.invocations + invocation];
    read_mask(outputs, slot, invocation, mask);
    for (uint32_t i = 0; lane < recipe.size && i < recipe.instances; ++i) {
        const struct instance *instance = &recipe.instance[i];
        if (instance->slot == slot && instance->number == number
            && memcmp(instance->mask, mask, sizeof mask) == 0 && instance->lanes[lane].recorded
            && (!recipe.same_invocation || instance->lanes[lane].invocation == invocation))
            return instance;
    }
    return NULL;
}

/* Compare the results of all invocations; return the exit code. */
static int compare_results(const uint32_t *outputs)
{
    uint32_t compared = 0, wrong = 0, unknown = 0, mask[MASK_WORDS];
    uint32_t *got = allocate(recipe.result.words, sizeof *got);
    for (uint32_t slot = 0; slot < recipe.slots; ++slot)
        for (uint32_t invocation = 0; invocation < recipe.invocations; ++invocation) {
            if (!read_mask(outputs, slot, invocation, mask))
                continue;
            const struct instance *instance = find_instance(outputs, slot, invocation);
            if (instance == NULL) {
                ++unknown;
                continue;
            }
            ++compared;
            for (uint32_t word = 0; word < recipe.result.words; ++word)
                got[word] = outputs[recipe.results
                                    + (slot * recipe.result.words + word) * recipe.invocations + invocation];
            if (!is_right_result(&instance->lanes[outputs[invocation]], got) && ++wrong <= 4)
                print_lane(instance, outputs[invocation], got);
        }
    printf("%s: %u of %u results compared, %u wrong\n", device_name, (unsigned)compared, (unsigned)recipe.recorded,
           (unsigned)wrong);
    if (wrong != 0)
        return WRONG;
    if (unknown != 0)
        printf("%u invocations ran in other subgroups, or with other active lanes, than on the device of the\n"
               "folder, so their results cannot be compared: vkgroup run FOLDER has the rules for them.\n",
               (unsigned)unknown);
    else if (compared < recipe.recorded)
        printf("Some invocations did not execute the operation.\n");
    return unknown != 0 ? CANNOT_RUN : compared < recipe.recorded ? WRONG : RIGHT;
}

int main(int argc, char **argv)
{
    if (argc > 3) {
        fprintf(stderr, "usage: %s [DEVICE [FOLDER]]\n", argv[0]);
        return USAGE;
    }
    const char *slash = strrchr(__FILE__, '/');
    if (argc == 3)
        snprintf(folder, sizeof folder, "%s", argv[2]);
    else
        snprintf(folder, sizeof folder, "%.*s", slash ? (int)(slash - __FILE__) : 1, slash ? __FILE__ : ".");
    read_recipe();
    choose_device(create_instance(), argc >= 2 ? argv[1] : NULL);
    create_device();
    create_descriptors();
    run();
    const uint32_t *outputs = recipe.binding[recipe.outputs].content;
    return recipe.masks ? compare_masks(outputs) : compare_results(outputs);
}
