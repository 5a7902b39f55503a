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
    VkPipelineShaderStageCreateInfo stages[] = {
        shader(VK_SHADER_STAGE_VERTEX_BIT, vertex_code, sizeof vertex_code, TESTED_STAGE == VK_SHADER_STAGE_VERTEX_BIT),
        shader(VK_SHADER_STAGE_FRAGMENT_BIT, fragment_code, sizeof fragment_code,
               TESTED_STAGE == VK_SHADER_STAGE_FRAGMENT_BIT)};
    VkPipelineVertexInputStateCreateInfo input = {
        .sType = VK_STRUCTURE_TYPE_PIPELINE_VERTEX_INPUT_STATE_CREATE_INFO};
    VkPipelineInputAssemblyStateCreateInfo assembly = {
        .sType = VK_STRUCTURE_TYPE_PIPELINE_INPUT_ASSEMBLY_STATE_CREATE_INFO, .topology = TOPOLOGY};
    VkViewport viewport = {.width = WIDTH, .height = HEIGHT, .maxDepth = 1.0f};
    VkRect2D scissor = {.extent = {WIDTH, HEIGHT}};
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
        .stageCount = 2, .pStages = stages, .pVertexInputState = &input, .pInputAssemblyState = &assembly,
        .pViewportState = &area, .pRasterizationState = &rasterization, .pMultisampleState = &samples,
        .layout = pipeline_layout, .renderPass = render_pass};
    VkPipeline pipeline;
    check(vkCreateGraphicsPipelines(device, VK_NULL_HANDLE, 1, &info, NULL, &pipeline), "vkCreateGraphicsPipelines");
    return pipeline;
}

static void record_command(VkCommandBuffer commands)
{
    VkRenderPass render_pass = create_render_pass();
    VkFramebufferCreateInfo framebuffers = {
        .sType = VK_STRUCTURE_TYPE_FRAMEBUFFER_CREATE_INFO,
        .renderPass = render_pass, .width = WIDTH, .height = HEIGHT, .layers = 1};
    VkFramebuffer framebuffer;
    check(vkCreateFramebuffer(device, &framebuffers, NULL, &framebuffer), "vkCreateFramebuffer");
    VkRenderPassBeginInfo begin = {
        .sType = VK_STRUCTURE_TYPE_RENDER_PASS_BEGIN_INFO, .renderPass = render_pass,
        .framebuffer = framebuffer, .renderArea = {.extent = {WIDTH, HEIGHT}}};
    vkCmdBindPipeline(commands, VK_PIPELINE_BIND_POINT_GRAPHICS, create_graphics_pipeline(render_pass));
    vkCmdBindDescriptorSets(commands, VK_PIPELINE_BIND_POINT_GRAPHICS, pipeline_layout, 0, 1, &set, 0, NULL);
    vkCmdBeginRenderPass(commands, &begin, VK_SUBPASS_CONTENTS_INLINE);
    vkCmdDraw(commands, VERTICES, DRAW_INSTANCES, 0, 0);
    vkCmdEndRenderPass(commands);
}
