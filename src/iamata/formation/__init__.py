"""The write side: statements in, a graph out. Returns what it worked out; saves nothing."""
