"""Whether this machine can record GPU metrics: each check with its evidence and its remedy."""
