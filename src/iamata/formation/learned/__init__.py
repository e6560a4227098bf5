"""Learned Memory: what a conversation gives, kept as it was said.

`learning` what the offline engine finds · `asking` what a language model is asked · `proposals` what of its answer is
believed ·
`relearning` what a better extractor says otherwise.
"""

from iamata.formation.learned.learning import learn, with_evidence

__all__ = ["learn", "with_evidence"]
