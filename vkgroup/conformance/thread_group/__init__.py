"""Cases of NV_shader_thread_group: GL sources with its `#extension`, in three stages."""
