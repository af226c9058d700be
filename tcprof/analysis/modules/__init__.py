"""Which module of a network, and which phase of a step, each kernel belongs to."""
