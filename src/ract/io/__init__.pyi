from .export import to_json as to_json
from .export import to_onnx as to_onnx
from .export import to_sklearn as to_sklearn
from .load import ModelFile as ModelFile
from .load import load_judge as load_judge
from .load import load_model as load_model
from .load import read_model_file as read_model_file
from .save import save_model as save_model

__all__ = [
    "ModelFile",
    "load_judge",
    "load_model",
    "read_model_file",
    "save_model",
    "to_json",
    "to_onnx",
    "to_sklearn",
]
