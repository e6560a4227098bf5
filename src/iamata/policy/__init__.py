"""Who may? Pure decisions with reasons: access, labels. Consent and retention come beside them."""
