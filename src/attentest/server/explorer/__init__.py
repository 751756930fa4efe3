"""A page on which a model's weights are taken in the hand."""
