from . import dask as dask
from . import spark as spark
from .job import Job as Job
from .job import apply as apply
from .stored import run as run

__all__ = ["Job", "apply", "dask", "run", "spark"]
