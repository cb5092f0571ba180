from ._utils.errors import InvalidData as InvalidData
from ._utils.errors import InvalidFile as InvalidFile
from ._utils.errors import InvalidSpec as InvalidSpec
from ._utils.version import __version__ as __version__
from .data.actions import ActionSpace as ActionSpace
from .data.actions import AssumedActions as AssumedActions
from .data.actions import Feature as Feature
from .data.datasets import load_loans as load_loans
from .evaluation.certificates import certify as certify
from .evaluation.certificates import verify as verify
from .evaluation.report import audit as audit
from .io.load import load_model as load_model
from .io.save import save_model as save_model
from .models.boosting import RecourseBoostingClassifier as RecourseBoostingClassifier
from .models.forest import RecourseForestClassifier as RecourseForestClassifier
from .models.imported import import_model as import_model
from .models.judge import OutcomeJudge as OutcomeJudge
from .models.tree import RecourseTreeClassifier as RecourseTreeClassifier
from .models.tuned import TunedRecourseClassifierCV as TunedRecourseClassifierCV
from .recourse.calibration import calibrate as calibrate
from .recourse.find import find_recourse as find_recourse
from .recourse.problem import RecourseProblem as RecourseProblem
from .recourse.reachable import has_recourse as has_recourse
from .recourse.reachable import recourse_status as recourse_status
from .recourse.reasons import find_reasons as find_reasons

__all__ = [
    "ActionSpace",
    "AssumedActions",
    "Feature",
    "InvalidData",
    "InvalidFile",
    "InvalidSpec",
    "OutcomeJudge",
    "RecourseBoostingClassifier",
    "RecourseForestClassifier",
    "RecourseProblem",
    "RecourseTreeClassifier",
    "TunedRecourseClassifierCV",
    "__version__",
    "audit",
    "calibrate",
    "certify",
    "find_reasons",
    "find_recourse",
    "has_recourse",
    "import_model",
    "load_loans",
    "load_model",
    "recourse_status",
    "save_model",
    "verify",
]
