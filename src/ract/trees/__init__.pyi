from .ensemble import TreeEnsemble as TreeEnsemble
from .fingerprint import data_fingerprint as data_fingerprint
from .fingerprint import model_fingerprint as model_fingerprint
from .readers import TreeModel as TreeModel
from .readers import read_model as read_model

__all__ = [
    "TreeEnsemble",
    "TreeModel",
    "data_fingerprint",
    "model_fingerprint",
    "read_model",
]
