"""What the CPU did in the steps, and the steps played again as they would be without its delays."""
