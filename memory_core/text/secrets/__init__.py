"""Secrets in a text: found by form or name, replaced before anything is stored."""

from memory_core.text.secrets.masking import mask, mask_all

__all__ = ["mask", "mask_all"]
