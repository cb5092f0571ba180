"""The service: decisions, plans and promises over HTTP, with keys, roles and pages."""

from __future__ import annotations

from ract.apps.web.app import App
from ract.apps.web.settings import Settings

__all__ = ["App", "Settings"]
