"""Statements on the recourse of a population, with confidence, that can be checked again."""

from ract.evaluation.certificates.certify import certify
from ract.evaluation.certificates.record import Certificate, CertificateWarning, Count, read_record
from ract.evaluation.certificates.verification import Verification
from ract.evaluation.certificates.verify import verify
from ract.evaluation.certificates.votes import RecourseGuarantee, guarantee_recourse

__all__ = [
    "Certificate",
    "CertificateWarning",
    "Count",
    "RecourseGuarantee",
    "Verification",
    "certify",
    "guarantee_recourse",
    "read_record",
    "verify",
]
