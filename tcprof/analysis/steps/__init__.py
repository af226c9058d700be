"""Steps: which repeat, which are warm-up, a typical one, and what the host did in them."""
