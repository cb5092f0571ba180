from .model import TreeModel as TreeModel
from .read import read_model as read_model

__all__ = ["TreeModel", "read_model"]
