"""The service: decisions, plans and promises over HTTP, with keys, roles and pages."""

from __future__ import annotations

from ract.serve.app import App
from ract.serve.settings import Settings

__all__ = ["App", "Settings"]
