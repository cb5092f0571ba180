"""Model files: one file, versioned, read without running anything from it."""

from __future__ import annotations

from ract.persist.load import ModelFile, load_model, read_model_file
from ract.persist.save import save_model

__all__ = ["ModelFile", "load_model", "read_model_file", "save_model"]
