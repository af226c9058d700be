"""What Python and notebooks have: recordings that are read, compared and made; each loads what it needs alone."""
