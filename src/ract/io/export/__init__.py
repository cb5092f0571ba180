"""Models for other programs: scikit-learn estimators, ONNX, JSON."""

from __future__ import annotations

from ract.io.export.as_json import to_json
from ract.io.export.as_onnx import to_onnx
from ract.io.export.as_sklearn import to_sklearn

__all__ = ["to_json", "to_onnx", "to_sklearn"]
