/*@COMMENT@*/
#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <vulkan/vulkan.h>

/* ---- The case. The large arrays are at the end of the file. ---- */

/*@CASE@*/
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

/* ---- Device: chosen by its index or by a part of its name, with exactly the required features ---- */

static VkPhysicalDevice physical;
static VkDevice device;
static VkQueue queue;
static uint32_t family;

static VkInstance create_instance(void)
{
    VkApplicationInfo application = {.sType = VK_STRUCTURE_TYPE_APPLICATION_INFO, .apiVersion = INSTANCE_VERSION};
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
    if (properties.apiVersion < DEVICE_VERSION)
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
    for (const struct extension *needed = required_extensions; needed->name != NULL; ++needed) {
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
    VkPhysicalDeviceSubgroupProperties subgroup = {.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SUBGROUP_PROPERTIES};
/*@SIZE_PROPERTIES@*/    VkPhysicalDeviceProperties2 properties = {
        .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PROPERTIES_2, .pNext = &subgroup};
    vkGetPhysicalDeviceProperties2(physical, &properties);
    if ((subgroup.supportedStages & REQUIRED_STAGES) != REQUIRED_STAGES)
        leave(CANNOT_RUN, "supportedStages lacks the stage of the shader", "");
    if ((subgroup.supportedOperations & REQUIRED_OPERATIONS) != REQUIRED_OPERATIONS)
        leave(CANNOT_RUN, "supportedOperations lacks operations of the shader", "");
/*@SIZE_CHECK@*/}

static void choose_queue(void)
{
    uint32_t count = 0;
    vkGetPhysicalDeviceQueueFamilyProperties(physical, &count, NULL);
    VkQueueFamilyProperties *families = allocate(count, sizeof *families);
    vkGetPhysicalDeviceQueueFamilyProperties(physical, &count, families);
    for (family = 0; family < count && (families[family].queueFlags & REQUIRED_QUEUE) != REQUIRED_QUEUE;)
        ++family;
    free(families);
    if (family == count)
        leave(CANNOT_RUN, "no queue can execute the case", "");
}

static void create_device(void)
{
    const char *enabled[MOST_EXTENSIONS];
    const float priority = 1.0f;
    struct features available, wanted;
    uint32_t extensions = find_extensions(enabled);
    chain_features(&available);
    vkGetPhysicalDeviceFeatures2(physical, &available.core);
    const char *missing = missing_feature(&available);
    if (missing != NULL)
        leave(CANNOT_RUN, "the device lacks", missing);
    check_subgroups();
    choose_queue();
    chain_features(&wanted);
    enable_features(&wanted);
    VkDeviceQueueCreateInfo queues = {
        .sType = VK_STRUCTURE_TYPE_DEVICE_QUEUE_CREATE_INFO,
        .queueFamilyIndex = family, .queueCount = 1, .pQueuePriorities = &priority};
    VkDeviceCreateInfo info = {
        .sType = VK_STRUCTURE_TYPE_DEVICE_CREATE_INFO, .pNext = &wanted.core,
        .queueCreateInfoCount = 1, .pQueueCreateInfos = &queues,
        .enabledExtensionCount = extensions, .ppEnabledExtensionNames = enabled};
    if (vkCreateDevice(physical, &info, NULL, &device) != VK_SUCCESS)
        leave(CANNOT_RUN, "vkCreateDevice failed", "");
    vkGetDeviceQueue(device, family, 0, &queue);
}

/* ---- Storage buffers in memory of the host, and their descriptors ---- */

static uint32_t *contents[BINDINGS];
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

/* Create the buffer of a binding with its initial content; return the buffer. */
static VkBuffer create_buffer(const struct binding *binding, uint32_t **content)
{
    VkBufferCreateInfo info = {
        .sType = VK_STRUCTURE_TYPE_BUFFER_CREATE_INFO,
        .size = 4 * (VkDeviceSize)binding->words, .usage = VK_BUFFER_USAGE_STORAGE_BUFFER_BIT};
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
    *content = mapped;
    for (uint32_t run = 0, at = 0; run < binding->runs; ++run)
        for (uint32_t i = 0; i < binding->initial[2 * run]; ++i)
            (*content)[at++] = binding->initial[2 * run + 1];
    if (binding->runs == 0)
        memcpy(mapped, binding->initial, 4 * (size_t)binding->words);
    return buffer;
}

static void create_descriptors(void)
{
    VkDescriptorSetLayoutBinding layouts[BINDINGS];
    VkDescriptorPoolSize size = {.type = VK_DESCRIPTOR_TYPE_STORAGE_BUFFER, .descriptorCount = BINDINGS};
    VkDescriptorPool pool;
    for (uint32_t i = 0; i < BINDINGS; ++i)
        layouts[i] = (VkDescriptorSetLayoutBinding){
            .binding = bindings[i].number, .descriptorType = VK_DESCRIPTOR_TYPE_STORAGE_BUFFER,
            .descriptorCount = 1, .stageFlags = VK_SHADER_STAGE_ALL};
    VkDescriptorSetLayoutCreateInfo layout = {
        .sType = VK_STRUCTURE_TYPE_DESCRIPTOR_SET_LAYOUT_CREATE_INFO,
        .bindingCount = BINDINGS, .pBindings = layouts};
    check(vkCreateDescriptorSetLayout(device, &layout, NULL, &set_layout), "vkCreateDescriptorSetLayout");
    VkDescriptorPoolCreateInfo pools = {
        .sType = VK_STRUCTURE_TYPE_DESCRIPTOR_POOL_CREATE_INFO,
        .maxSets = 1, .poolSizeCount = 1, .pPoolSizes = &size};
    check(vkCreateDescriptorPool(device, &pools, NULL, &pool), "vkCreateDescriptorPool");
    VkDescriptorSetAllocateInfo allocation = {
        .sType = VK_STRUCTURE_TYPE_DESCRIPTOR_SET_ALLOCATE_INFO,
        .descriptorPool = pool, .descriptorSetCount = 1, .pSetLayouts = &set_layout};
    check(vkAllocateDescriptorSets(device, &allocation, &set), "vkAllocateDescriptorSets");
    for (uint32_t i = 0; i < BINDINGS; ++i) {
        VkDescriptorBufferInfo buffer = {.buffer = create_buffer(&bindings[i], &contents[i]), .range = VK_WHOLE_SIZE};
        VkWriteDescriptorSet write = {
            .sType = VK_STRUCTURE_TYPE_WRITE_DESCRIPTOR_SET, .dstSet = set, .dstBinding = bindings[i].number,
            .descriptorCount = 1, .descriptorType = VK_DESCRIPTOR_TYPE_STORAGE_BUFFER, .pBufferInfo = &buffer};
        vkUpdateDescriptorSets(device, 1, &write, 0, NULL);
    }
    VkPipelineLayoutCreateInfo pipeline = {
        .sType = VK_STRUCTURE_TYPE_PIPELINE_LAYOUT_CREATE_INFO, .setLayoutCount = 1, .pSetLayouts = &set_layout};
    check(vkCreatePipelineLayout(device, &pipeline, NULL, &pipeline_layout), "vkCreatePipelineLayout");
}

/* ---- Pipeline and command ---- */

/* Return a shader of the pipeline. `tested` is the shader with the tested operation. */
static VkPipelineShaderStageCreateInfo shader(VkShaderStageFlagBits stage, const uint32_t *code, size_t size, bool tested)
{
    VkShaderModuleCreateInfo info = {
        .sType = VK_STRUCTURE_TYPE_SHADER_MODULE_CREATE_INFO, .codeSize = size, .pCode = code};
    VkPipelineShaderStageCreateInfo result = {
        .sType = VK_STRUCTURE_TYPE_PIPELINE_SHADER_STAGE_CREATE_INFO, .stage = stage, .pName = "main"};
    check(vkCreateShaderModule(device, &info, NULL, &result.module), "vkCreateShaderModule");
/*@TESTED@*/    return result;
}

/*@COMMAND@*/
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
    record_command(commands);
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

/* ---- Comparison ---- */

static void print_mask(const uint32_t *mask)
{
    int word = 3;
    while (word > 0 && mask[word] == 0)
        --word;
    printf("0x%x", (unsigned)mask[word]);
    while (word-- > 0)
        printf("%08x", (unsigned)mask[word]);
}

/*@COMPARISON@*/
int main(int argc, char **argv)
{
    if (argc > 2) {
        fprintf(stderr, "usage: %s [device: its index, or a part of its name]\n", argv[0]);
        return USAGE;
    }
    choose_device(create_instance(), argc == 2 ? argv[1] : NULL);
    create_device();
    create_descriptors();
    run();
    return compare(contents[OUTPUTS]);
}

/* ---- Data ---- */

/*@DATA@*/

/*@SOURCE@*/
