"""vkgroup tells the truth about subgroups on Vulkan devices."""
