from .boosting import RecourseBoostingClassifier as RecourseBoostingClassifier
from .cuts import FewRefusedWarning as FewRefusedWarning
from .forest import RecourseForestClassifier as RecourseForestClassifier
from .guarantee import Guarantee as Guarantee
from .guarantee import GuaranteeWarning as GuaranteeWarning
from .imported import ImportedClassifier as ImportedClassifier
from .imported import import_model as import_model
from .judge import OutcomeJudge as OutcomeJudge
from .performance import Performance as Performance
from .tree import RecourseTreeClassifier as RecourseTreeClassifier
from .tuned import TunedRecourseClassifierCV as TunedRecourseClassifierCV
from .verdicts import Judged as Judged
from .weight_search import WeightSearch as WeightSearch

__all__ = [
    "FewRefusedWarning",
    "Guarantee",
    "GuaranteeWarning",
    "ImportedClassifier",
    "Judged",
    "OutcomeJudge",
    "Performance",
    "RecourseBoostingClassifier",
    "RecourseForestClassifier",
    "RecourseTreeClassifier",
    "TunedRecourseClassifierCV",
    "WeightSearch",
    "import_model",
]
