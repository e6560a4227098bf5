"""What language models need to be counted and called: the token counter."""
