"""Statements on the recourse of a population, with confidence, that can be checked again."""

from ract.certificates.certify import certify
from ract.certificates.record import Certificate, CertificateWarning, Count, read_record
from ract.certificates.verify import Verification, verify
from ract.certificates.votes import RecourseGuarantee, guarantee_recourse

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
