// Replaces "#extension GL_NV_shader_thread_group : disable": undefines the extension's names.

#undef gl_ThreadInWarpNV
#undef gl_ThreadEqMaskNV
#undef gl_ThreadGeMaskNV
#undef gl_ThreadGtMaskNV
#undef gl_ThreadLeMaskNV
#undef gl_ThreadLtMaskNV
#undef gl_WarpIDNV
#undef gl_SMIDNV
#undef gl_WarpSizeNV
#undef gl_WarpsPerSMNV
#undef gl_SMCountNV
#undef activeThreadsNV
#undef ballotThreadNV
#undef gl_HelperThreadNV
#undef quadSwizzle0NV
#undef quadSwizzle1NV
#undef quadSwizzle2NV
#undef quadSwizzle3NV
#undef quadSwizzleXNV
#undef quadSwizzleYNV
