"""LangMem's tools over Tenet's store: what the model files passes the gate, and is found by Tenet's recall."""
from langchain.agents import create_agent
from langmem import create_manage_memory_tool, create_search_memory_tool

from listing_02_deepagents_working_memory import model
from tenet_memory import Tenet
from tenet_memory.langgraph import TenetStore


def agent(scope):
    namespace = ("memories", "{user_id}")
    return create_agent(model(), tools=[create_manage_memory_tool(namespace), create_search_memory_tool(namespace)], store=TenetStore(scope))


if __name__ == "__main__":
    print(agent(Tenet().user("sarah")).invoke({"messages": [{"role": "user", "content": "Remember that I like quiet hotels."}]}, {"configurable": {"user_id": "sarah"}})["messages"][-1].text)
