"""How fast, and how large? `python -m benchmarks` prints figures of one run on this machine; no test reads them."""
