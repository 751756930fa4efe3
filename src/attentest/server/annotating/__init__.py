"""A page on which annotators answer whether the marked words are relevant."""
