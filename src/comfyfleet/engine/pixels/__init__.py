"""Pure functions over arrays of pixels: what the nodes do, without knowing of nodes."""
