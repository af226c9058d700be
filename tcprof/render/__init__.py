"""How documents look: text, Markdown, CSV, JSON, JUnit, pages and traces."""
