"""What the terminal and Markdown show."""
