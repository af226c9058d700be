"""The timeline of a page: its data, packed, and its empty figure."""
