"""What advice is, what it saves, and how savings of several findings and GPUs go together."""
