"""The nouns: frozen, valid when made, no input or output."""
