"""The invocations of a batch by stage: of workgroups, pixels, vertices, patches, primitives or rays."""
