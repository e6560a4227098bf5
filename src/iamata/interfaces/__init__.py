"""How others reach the engine: HTTP, the command line, and the shapes they speak."""
