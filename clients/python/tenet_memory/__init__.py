"""Client of Tenet, governed memory for AI agents."""
from . import types
from ._wire import Conflict, NotFound, Refused, Request, TenetError, Unavailable
from .aio import AsyncScope, AsyncSession, AsyncTenet
from .client import Scope, Session, Tenet

__version__ = "0.1.0"
__all__ = [
    "Tenet", "Scope", "Session", "AsyncTenet", "AsyncScope", "AsyncSession",
    "TenetError", "NotFound", "Conflict", "Refused", "Unavailable", "Request", "types",
]
