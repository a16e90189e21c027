"""A painter without a model: words choose a scene and its colours, a seed the rest, brush strokes make the picture."""
