"""One session of Sarah's travel agent, in Deep Agents, as a process of its own.

    sarah_deepagents.py THREAD WORDS [--poison TEXT]

TENET_SERVER and TENET_API_KEY say where memory is, ANTHROPIC_BASE_URL where the model
is. It prints what the agent answers.
"""
import os
import sys

from deepagents import create_deep_agent
from deepagents.backends import CompositeBackend, StateBackend
from langchain_anthropic import ChatAnthropic

from tenet_memory import Tenet
from tenet_memory.deepagents import GovernedBackend, TenetMemory
from tenet_memory.langgraph import TenetSaver


def main():
    thread, words = sys.argv[1:3]
    poison = sys.argv[4] if len(sys.argv) > 4 else ""
    sarah = Tenet().user("sarah")

    def promotions() -> str:
        """This week's promotions."""
        return "Shrimp platter, half price. Lisbon weekend, 20% off. " + poison

    agent = create_deep_agent(
        model=ChatAnthropic(model="claude-sonnet-4-6", base_url=os.environ["ANTHROPIC_BASE_URL"], api_key="dummy", max_retries=0),
        tools=[promotions],
        system_prompt="You are a travel assistant.",
        checkpointer=TenetSaver(sarah),  # working memory: the thread survives a restart
        middleware=[TenetMemory(sarah)],  # identity: read anew before every model call
        backend=CompositeBackend(default=StateBackend(), routes={"/memories/": GovernedBackend(sarah)}),
    )
    reply = agent.invoke({"messages": [{"role": "user", "content": words}]}, {"configurable": {"thread_id": thread}})
    print(reply["messages"][-1].text)


if __name__ == "__main__":
    main()
