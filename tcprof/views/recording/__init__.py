"""What is said of one recording: its facts, ranges, kernels and time, its screen and its page."""
