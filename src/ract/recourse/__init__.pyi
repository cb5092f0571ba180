from .calibration import LastingCurve as LastingCurve
from .calibration import LastingWarning as LastingWarning
from .calibration import calibrate as calibrate
from .few_changes import along_reasons as along_reasons
from .few_changes import few_changes as few_changes
from .find import find_recourse as find_recourse
from .lasting import LastingRecourse as LastingRecourse
from .lasting import lasting_recourse as lasting_recourse
from .levers import Levers as Levers
from .levers import find_levers as find_levers
from .plan import Change as Change
from .plan import Obstacle as Obstacle
from .plan import Plan as Plan
from .plausible.plausibility import Plausibility as Plausibility
from .problem import RecourseProblem as RecourseProblem
from .reachable import has_recourse as has_recourse
from .reachable import recourse_status as recourse_status
from .reasons import PersonReasons as PersonReasons
from .reasons import Reason as Reason
from .reasons import Reasons as Reasons
from .reasons import find_reasons as find_reasons
from .result import Recourse as Recourse
from .time_frontier import time_frontier as time_frontier

__all__ = [
    "Change",
    "LastingCurve",
    "LastingRecourse",
    "LastingWarning",
    "Levers",
    "Obstacle",
    "PersonReasons",
    "Plan",
    "Plausibility",
    "Reason",
    "Reasons",
    "Recourse",
    "RecourseProblem",
    "along_reasons",
    "calibrate",
    "few_changes",
    "find_levers",
    "find_reasons",
    "find_recourse",
    "has_recourse",
    "lasting_recourse",
    "recourse_status",
    "time_frontier",
]
