"""Which losses can be learned by learning another, and learners that do so."""
