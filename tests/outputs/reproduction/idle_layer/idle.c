/* A layer whose device stops executing: after IDLE_AFTER submissions with command buffers, which the file
   IDLE_COUNT counts for all processes, it submits without them; fences and semaphores are signalled.
   Interface: Vulkan-Loader, "LoaderLayerInterface.md", version 2. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef void (*Function)(void);
typedef Function (*GetProc)(void *, const char *);
typedef int32_t (*Create)(void *, const void *, const void *, void **);
typedef struct LayerInfo { struct LayerInfo *next; GetProc instance, device; } LayerInfo;
typedef struct ChainInfo { int32_t type; const struct ChainInfo *next; int32_t function; LayerInfo *layer; } ChainInfo;
typedef struct CreateInfo { int32_t type; const ChainInfo *next; } CreateInfo;
typedef struct Negotiate { int32_t type; void *next; uint32_t version; GetProc instance, device, physical; } Negotiate;
typedef struct Submit {
    int32_t type; const void *next;
    uint32_t waits; const void *wait; const void *stages;
    uint32_t count; const void *buffers;
    uint32_t signals; const void *signal;
} Submit;
typedef int32_t (*QueueSubmit)(void *, uint32_t, const Submit *, uint64_t);

enum { INSTANCE_CHAIN = 47, DEVICE_CHAIN = 48 };

static GetProc next_instance, next_device;
static QueueSubmit next_submit;

static LayerInfo *take(const CreateInfo *info, int32_t type) {
    ChainInfo *chain = (ChainInfo *)info->next;
    while (chain && !(chain->type == type && chain->function == 0))
        chain = (ChainInfo *)chain->next;
    if (!chain)
        return NULL;
    LayerInfo *layer = chain->layer;
    chain->layer = layer->next;
    return layer;
}

static int32_t create_instance(const CreateInfo *info, const void *allocator, void **instance) {
    LayerInfo *layer = take(info, INSTANCE_CHAIN);
    next_instance = layer->instance;
    int32_t (*create)(const void *, const void *, void **) =
        (int32_t (*)(const void *, const void *, void **))next_instance(NULL, "vkCreateInstance");
    return create(info, allocator, instance);
}

static int32_t create_device(void *physical, const CreateInfo *info, const void *allocator, void **device) {
    LayerInfo *layer = take(info, DEVICE_CHAIN);
    next_device = layer->device;
    Create create = (Create)layer->instance(NULL, "vkCreateDevice");
    int32_t result = create(physical, info, allocator, device);
    if (result == 0)
        next_submit = (QueueSubmit)next_device(*device, "vkQueueSubmit");
    return result;
}

static int is_idle(void) {
    FILE *file = fopen(getenv("IDLE_COUNT"), "a+");
    fputc('.', file);
    fflush(file);
    fseek(file, 0, SEEK_END);
    long count = ftell(file);
    fclose(file);
    return count > atol(getenv("IDLE_AFTER"));
}

static int32_t queue_submit(void *queue, uint32_t count, const Submit *submits, uint64_t fence) {
    Submit changed[16];
    uint32_t buffers = 0;
    for (uint32_t k = 0; k < count && k < 16; ++k) {
        changed[k] = submits[k];
        buffers += submits[k].count;
    }
    if (count > 16 || buffers == 0 || !is_idle())
        return next_submit(queue, count, submits, fence);
    for (uint32_t k = 0; k < count; ++k)
        changed[k].count = 0;
    return next_submit(queue, count, changed, fence);
}

static Function get_device(void *device, const char *name);

static Function get_instance(void *instance, const char *name) {
    if (!strcmp(name, "vkGetInstanceProcAddr")) return (Function)get_instance;
    if (!strcmp(name, "vkGetDeviceProcAddr")) return (Function)get_device;
    if (!strcmp(name, "vkCreateInstance")) return (Function)create_instance;
    if (!strcmp(name, "vkCreateDevice")) return (Function)create_device;
    if (!strcmp(name, "vkQueueSubmit")) return (Function)queue_submit;
    return next_instance ? next_instance(instance, name) : NULL;
}

static Function get_device(void *device, const char *name) {
    if (!strcmp(name, "vkGetDeviceProcAddr")) return (Function)get_device;
    if (!strcmp(name, "vkQueueSubmit")) return (Function)queue_submit;
    return next_device(device, name);
}

int32_t vkNegotiateLoaderLayerInterfaceVersion(Negotiate *versions) {
    versions->version = 2;
    versions->instance = get_instance;
    versions->device = get_device;
    versions->physical = NULL;
    return 0;
}
