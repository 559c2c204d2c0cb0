"""Listing 02. Working memory in Deep Agents: the same thread id, whatever process asks."""
import os

from deepagents import create_deep_agent
from langchain_anthropic import ChatAnthropic

from tenet_memory import Tenet
from tenet_memory.langgraph import TenetSaver


def model():
    return ChatAnthropic(model="claude-sonnet-4-6", base_url=os.environ.get("ANTHROPIC_BASE_URL"), api_key=os.environ.get("ANTHROPIC_API_KEY", "dummy"))


def ask(scope, words, thread="rebooking-118"):
    agent = create_deep_agent(model=model(), checkpointer=TenetSaver(scope))
    reply = agent.invoke({"messages": [{"role": "user", "content": words}]}, {"configurable": {"thread_id": thread}})
    return reply["messages"][-1].text


def main(scope):
    ask(scope, "The customer is rebooking AC118 after a cancellation.")
    return ask(scope, "What flight are we rebooking, and why?")  # an agent made anew: nothing but the thread joins them


if __name__ == "__main__":
    print(main(Tenet().user("sarah")))
