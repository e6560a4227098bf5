"""Who may, and how long is what kept? Pure decisions with reasons: rows of access, claims of tokens, consents, labels
and the view a reader gets, what may leave, retention."""
