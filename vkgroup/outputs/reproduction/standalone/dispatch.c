static void record_command(VkCommandBuffer commands)
{
    VkPipeline pipeline;
    VkComputePipelineCreateInfo info = {
        .sType = VK_STRUCTURE_TYPE_COMPUTE_PIPELINE_CREATE_INFO,
        .stage = shader(VK_SHADER_STAGE_COMPUTE_BIT, compute_code, sizeof compute_code, true),
        .layout = pipeline_layout};
    check(vkCreateComputePipelines(device, VK_NULL_HANDLE, 1, &info, NULL, &pipeline), "vkCreateComputePipelines");
    vkCmdBindPipeline(commands, VK_PIPELINE_BIND_POINT_COMPUTE, pipeline);
    vkCmdBindDescriptorSets(commands, VK_PIPELINE_BIND_POINT_COMPUTE, pipeline_layout, 0, 1, &set, 0, NULL);
    vkCmdDispatch(commands, GROUPS_X, GROUPS_Y, GROUPS_Z);
}
