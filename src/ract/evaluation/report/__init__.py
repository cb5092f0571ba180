"""The audit of a model: what it decides, who has recourse, and who has not."""

from ract.evaluation.report.audit import Audit, audit

__all__ = ["Audit", "audit"]
