"""Programs for those who work on iamata; nothing of the package imports them."""
