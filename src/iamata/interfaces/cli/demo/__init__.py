"""One small patient, all the way: what was received, what it came to, what contradicts, what a task gets."""
