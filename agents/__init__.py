"""Players of the environment: the `Agent` interface, random to learned, and how to compare them."""
