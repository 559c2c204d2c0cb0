"""One piece of logic for sync and async callers.

An adapter writes each operation once, as a generator that yields calls on a
scope and is sent their results. Both drives it with either client.
"""
import asyncio
import weakref
from typing import Any, Callable, Generator, TypeVar

from .aio import AsyncScope, AsyncTenet
from .client import Scope

T = TypeVar("T")
# A step takes a Scope or an AsyncScope and returns a value or an awaitable.
Step = Generator[Callable[[Any], Any], Any, T]


class Both:
    """A scope to be used from sync and async code. An async client belongs to one event loop, so each loop has its own."""

    def __init__(self, scope: Scope):
        self.scope = scope
        self._loops: "weakref.WeakKeyDictionary[asyncio.AbstractEventLoop, AsyncScope]" = weakref.WeakKeyDictionary()

    def aio(self) -> AsyncScope:
        loop = asyncio.get_running_loop()
        if loop not in self._loops:
            c = self.scope._client
            client = AsyncTenet(c._base, c._headers["Authorization"].removeprefix("Bearer "), timeout=c.http.timeout)
            self._loops[loop] = AsyncScope(client, self.scope.path, self.scope.name)
        return self._loops[loop]

    def run(self, steps: Step[T]) -> T:
        return drive(self.scope, steps)

    async def arun(self, steps: Step[T]) -> T:
        scope = self.aio()
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
