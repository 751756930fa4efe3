"""Importance: a score for each token or hidden state that does not come from attention."""
