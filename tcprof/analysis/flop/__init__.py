"""FLOP that PyTorch's ops ask for, by the sizes of their operands: whatever the kernels execute."""
