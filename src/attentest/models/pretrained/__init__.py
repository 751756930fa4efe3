"""Networks of the library transformers: their attention weights replaced, their lower layers used again.

Needs the extra `hf`; import its modules only where such a network is used.
"""
