from .adoption import AdoptionCurve as AdoptionCurve
from .adoption import simulate_adoption as simulate_adoption
from .certificates import Certificate as Certificate
from .certificates import CertificateWarning as CertificateWarning
from .certificates import Verification as Verification
from .certificates import certify as certify
from .certificates import guarantee_recourse as guarantee_recourse
from .certificates import verify as verify
from .leak import Leak as Leak
from .leak import measure_leak as measure_leak
from .lending import Book as Book
from .lending import book as book
from .metrics import Sendable as Sendable
from .metrics import causal_validity as causal_validity
from .metrics import mean_cost as mean_cost
from .metrics import outlier_score as outlier_score
from .metrics import plausibility as plausibility
from .metrics import recourse_ratio as recourse_ratio
from .metrics import recourse_report as recourse_report
from .metrics import recourse_risk as recourse_risk
from .metrics import sendable as sendable
from .metrics import sparsity as sparsity
from .metrics import validity as validity
from .plots import AdoptionDisplay as AdoptionDisplay
from .plots import BookDisplay as BookDisplay
from .plots import BudgetDisplay as BudgetDisplay
from .plots import CostDisplay as CostDisplay
from .plots import GroupDisplay as GroupDisplay
from .plots import LeversDisplay as LeversDisplay
from .plots import PlanDisplay as PlanDisplay
from .plots import PromisesDisplay as PromisesDisplay
from .plots import SendableDisplay as SendableDisplay
from .plots import TradeoffDisplay as TradeoffDisplay
from .plots import plot_tree as plot_tree
from .pool_risk import PoolOffers as PoolOffers
from .pool_risk import pool_offers as pool_offers
from .reasons_report import reasons_report as reasons_report
from .reasons_report import reasons_stability as reasons_stability
from .report import Audit as Audit
from .report import audit as audit
from .text import export_text as export_text
from .tradeoff import TradeoffCurve as TradeoffCurve
from .tradeoff import tradeoff_curve as tradeoff_curve

__all__ = [
    "AdoptionCurve",
    "AdoptionDisplay",
    "Audit",
    "Book",
    "BookDisplay",
    "BudgetDisplay",
    "Certificate",
    "CertificateWarning",
    "CostDisplay",
    "GroupDisplay",
    "Leak",
    "LeversDisplay",
    "PlanDisplay",
    "PoolOffers",
    "PromisesDisplay",
    "Sendable",
    "SendableDisplay",
    "TradeoffCurve",
    "TradeoffDisplay",
    "Verification",
    "audit",
    "book",
    "causal_validity",
    "certify",
    "export_text",
    "guarantee_recourse",
    "mean_cost",
    "measure_leak",
    "outlier_score",
    "plausibility",
    "plot_tree",
    "pool_offers",
    "reasons_report",
    "reasons_stability",
    "recourse_ratio",
    "recourse_report",
    "recourse_risk",
    "sendable",
    "simulate_adoption",
    "sparsity",
    "tradeoff_curve",
    "validity",
    "verify",
]
