"""LangGraph over Tenet: a checkpointer over threads, a store over documents."""
from .saver import TenetSaver
from .store import TenetStore

__all__ = ["TenetSaver", "TenetStore"]
