"""What is said of a recording, a comparison or a machine: documents in which there is no medium."""
