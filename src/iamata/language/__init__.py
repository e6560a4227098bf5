"""What language models need to be counted and called: the token counter, and clients for two wire formats.

`servers` which server may be called · `connection` bytes to it and back, bounded · `openai_wire`, `anthropic_wire` one
request each · `reply` what came of it · `remote` attempts and outcomes · `scripted` a double that ships · `tokens` the
counter. What is asked, and what of an answer is accepted, is for `formation`.
"""
