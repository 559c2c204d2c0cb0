"""Listing 01. Working memory in the Claude Agent SDK: the transcript is in Tenet, so a later process goes on with it."""
import asyncio
import os

from claude_agent_sdk import ClaudeAgentOptions, ResultMessage, query

from tenet_memory import Tenet
from tenet_memory.claude import TenetSessionStore


async def turn(scope, words, resume=None, cwd=None):
    options = ClaudeAgentOptions(
        session_store=TenetSessionStore(scope), resume=resume, cwd=cwd, allowed_tools=[], setting_sources=[], model="claude-sonnet-4-5",
        env={k: os.environ[k] for k in ("ANTHROPIC_BASE_URL", "ANTHROPIC_API_KEY", "HOME", "CLAUDE_CONFIG_DIR") if k in os.environ},
    )
    async for m in query(prompt=words, options=options):
        if isinstance(m, ResultMessage):
            return m.session_id, m.result


async def main(scope, cwd=None):
    session, _ = await turn(scope, "The customer is rebooking AC118 after a cancellation.", cwd=cwd)
    return (await turn(scope, "What flight are we rebooking, and why?", resume=session, cwd=cwd))[1]


if __name__ == "__main__":
    print(asyncio.run(main(Tenet().user("sarah"))))
