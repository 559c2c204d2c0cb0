"""Listing 03. Persistent facts by identity in the Claude Agent SDK: no file of ours, and the gate before the write."""
import asyncio
import os

from claude_agent_sdk import ClaudeAgentOptions, ResultMessage, query

from tenet_memory import Tenet
from tenet_memory.claude import system_prompt


def remember(scope, key, value, quote):
    """An explicit write: its evidence is what the user said, its answer a verdict with a reason."""
    return scope.remember(value, tier="fact", key=key, quote=quote)


async def session(scope, id, words, cwd=None):
    options = ClaudeAgentOptions(
        system_prompt=system_prompt(scope, id, "You are a travel assistant."), setting_sources=[], cwd=cwd, model="claude-sonnet-4-5",
        env={k: os.environ[k] for k in ("ANTHROPIC_BASE_URL", "ANTHROPIC_API_KEY", "HOME", "CLAUDE_CONFIG_DIR") if k in os.environ},
    )
    async for m in query(prompt=words, options=options):
        if isinstance(m, ResultMessage):
            return m.result


def main(scope, cwd=None):
    remember(scope, "allergy", "Severe shellfish. Flag all seafood promotions.", "I have a severe shellfish allergy, please flag any seafood promotions.")
    return asyncio.run(session(scope, "session-2", "Show me this week's promotions.", cwd))


if __name__ == "__main__":
    print(main(Tenet().user("sarah")))
