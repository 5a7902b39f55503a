#version 450

// The width of an antialiased edge, computed in uniform control flow.
layout(location = 0) in vec2 uv;
layout(location = 0) out vec4 color;

void main()
{
    float distance = uv.x * 0.5 + uv.y - 0.5;
    float width = fwidth(distance);
    float alpha = 1.0;
    if (distance > 0.0) {
        alpha = clamp(distance / width, 0.0, 1.0);
    }
    color = vec4(uv, 0.0, alpha);
}
