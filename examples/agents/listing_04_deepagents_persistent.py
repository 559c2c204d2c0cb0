"""Listing 04. Persistent facts in Deep Agents: read before every model call, so none is stale, and missing ones stop the agent."""
from deepagents import create_deep_agent
from deepagents.backends import CompositeBackend, StateBackend

from listing_02_deepagents_working_memory import model
from tenet_memory import Tenet
from tenet_memory.deepagents import GovernedBackend, TenetMemory


def agent(scope):
    return create_deep_agent(
        model=model(),
        middleware=[TenetMemory(scope, required=["allergy"])],
        backend=CompositeBackend(default=StateBackend(), routes={"/memories/": GovernedBackend(scope)}),
    )


def main(scope, thread="promotions"):
    reply = agent(scope).invoke({"messages": [{"role": "user", "content": "Show me this week's promotions."}]}, {"configurable": {"thread_id": thread}})
    return reply["messages"][-1].text


if __name__ == "__main__":
    print(main(Tenet().user("sarah")))
