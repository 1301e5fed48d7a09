"""One file a library that the environment plugs into."""
