"""Where recordings are read: each kind of file has a source, which gives frames."""
