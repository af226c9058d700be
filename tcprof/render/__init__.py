"""How a document looks: text, Markdown, CSV, JSON, JUnit, HTML and traces."""
