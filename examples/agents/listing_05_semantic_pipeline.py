"""Listing 05. Semantic memory: append the turn; extraction, deduplication and the index are the server's. Then recall by meaning."""
from tenet_memory import Tenet


def remember_turn(scope, session, turn):
    """A finished turn. Nothing is written to durable memory here: the session is consolidated after it."""
    scope.session(session).append_all([{"role": m["role"], "text": m["content"]} for m in turn])


def recall_for_turn(scope, query, k=5):
    return [h["text"] for h in scope.recall(query, k=k)["hits"]]


def main(scope):
    remember_turn(scope, "trip-1", [
        {"role": "user", "content": "I did not like the Grand Hotel in Lisbon, it was far too noisy."},
        {"role": "assistant", "content": "Sorry to hear that."},
    ])
    scope.session("trip-1").end(wait=True)
    return recall_for_turn(scope, "a hotel in Lisbon")


if __name__ == "__main__":
    print("\n".join(main(Tenet().user("sarah"))))
