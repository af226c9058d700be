"""The gate for builds: conditions, and what a comparison says of them."""
