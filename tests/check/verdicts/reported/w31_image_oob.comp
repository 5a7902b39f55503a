#version 460
// KytyPS5/KytyPS5#462 (2026-09): image stores at coordinates outside the image
layout(local_size_x = 8, local_size_y = 8) in;
layout(binding = 0, r32ui) writeonly uniform uimage2D img;
void main(){ ivec2 p=ivec2(gl_GlobalInvocationID.xy)+ivec2(4);
 ivec2 size=imageSize(img);
 p.x+=size.x-4;
 imageStore(img,p,uvec4(1u)); }
