"""One piece of logic for sync and async callers.

An adapter writes each operation once, as a generator that yields calls on a
scope and is sent their results. Both drives it with either client.
"""
import asyncio
import weakref
from typing import Any, Callable, Dict, Generator, Tuple, TypeVar, Union

from .aio import AsyncScope, AsyncTenet
from .client import Scope

T = TypeVar("T")
# A step takes a Scope or an AsyncScope and returns a value or an awaitable.
Step = Generator[Callable[[Any], Any], Any, T]


class Both:
    """A scope to be used from sync and async code, or a function that says whose turn it is from the framework's config.

    An async client belongs to one event loop, so each loop has its own.
    """

    def __init__(self, scope: Union[Scope, Callable[[Any], Scope]]):
        self._scope = scope
        self._loops: "weakref.WeakKeyDictionary[asyncio.AbstractEventLoop, Dict[Tuple[str, str], AsyncTenet]]" = weakref.WeakKeyDictionary()

    def at(self, config: Any = None) -> Scope:
        if not callable(self._scope):
            return self._scope
        if config is None:
            raise TypeError("the scope follows from a config, and this call has none: make one for the subject")
        return self._scope(config)

    def aio(self, config: Any = None) -> AsyncScope:
        scope = self.at(config)
        c = scope._client
        made = self._loops.setdefault(asyncio.get_running_loop(), {})
        key = c._base, c._headers["Authorization"]
        if key not in made:
            made[key] = AsyncTenet(c._base, key[1].removeprefix("Bearer "), timeout=c.http.timeout)
        return AsyncScope(made[key], scope.path, scope.name)

    def run(self, steps: Step[T], config: Any = None) -> T:
        return drive(self.at(config), steps)

    async def arun(self, steps: Step[T], config: Any = None) -> T:
        scope = self.aio(config)
        try:
            call = next(steps)
            while True:
                try:
                    result = await call(scope)
                except Exception as e:
                    call = steps.throw(e)
                else:
                    call = steps.send(result)
        except StopIteration as done:
            return done.value


def drive(scope: Scope, steps: Step[T]) -> T:
    try:
        call = next(steps)
        while True:
            try:
                result = call(scope)
            except Exception as e:
                call = steps.throw(e)
            else:
                call = steps.send(result)
    except StopIteration as done:
        return done.value
