"""The library transformers, or a message that says how to get it."""

from __future__ import annotations

from attentest.errors import InputError

try:
    import transformers
    from transformers import AttentionMaskInterface  # noqa: F401 (new in version 5)
except ImportError as error:
    raise InputError(
        "Hugging Face models need transformers 5 or later, which is not installed: pip install 'attentest[hf]'."
    ) from error

__all__ = ["transformers"]
