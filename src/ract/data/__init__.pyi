from .actions import ActionSpace as ActionSpace
from .actions import AssumedActions as AssumedActions
from .actions import Condition as Condition
from .actions import Feature as Feature
from .actions import IfThen as IfThen
from .actions import LinearRelation as LinearRelation
from .actions import NoTransition as NoTransition
from .costs import CombinedCost as CombinedCost
from .costs import Cost as Cost
from .costs import FittedCost as FittedCost
from .costs import LevelCost as LevelCost
from .costs import LinearCost as LinearCost
from .costs import LogPercentileCost as LogPercentileCost
from .costs import PercentileCost as PercentileCost
from .costs import ScaledCost as ScaledCost
from .costs import make_cost as make_cost
from .csv import TableFormat as TableFormat
from .csv import as_read as as_read
from .datasets import Dataset as Dataset
from .datasets import DataUnavailable as DataUnavailable
from .datasets import fetch_adult as fetch_adult
from .datasets import fetch_bail as fetch_bail
from .datasets import fetch_compas as fetch_compas
from .datasets import fetch_credit as fetch_credit
from .datasets import fetch_fico as fetch_fico
from .datasets import load_loans as load_loans
from .effects import CausalEffects as CausalEffects
from .lingam import DirectLiNGAM as DirectLiNGAM

__all__ = [
    "ActionSpace",
    "AssumedActions",
    "CausalEffects",
    "CombinedCost",
    "Condition",
    "Cost",
    "DataUnavailable",
    "Dataset",
    "DirectLiNGAM",
    "Feature",
    "FittedCost",
    "IfThen",
    "LevelCost",
    "LinearCost",
    "LinearRelation",
    "LogPercentileCost",
    "NoTransition",
    "PercentileCost",
    "ScaledCost",
    "TableFormat",
    "as_read",
    "fetch_adult",
    "fetch_bail",
    "fetch_compas",
    "fetch_credit",
    "fetch_fico",
    "load_loans",
    "make_cost",
]
