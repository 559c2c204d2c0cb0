"""Listing 06. Forgetting on purpose: what is recalled and of no use loses its place in the results, and stays for audit.

The score, its decay and the gap between demotion and promotion are the server's (docs/tuning.md). A host reports how it went.
"""
from tenet_memory import Tenet


def report(scope, hits, success):
    """What was in the context of a turn that went well, or did not."""
    return scope.outcome([h["id"] for h in hits], success)


def main(scope):
    scope.remember("Prefers quiet hotels near the station.", tier="note", quote="I prefer quiet hotels near the station.")
    hits = scope.recall("hotel")["hits"]
    report(scope, hits, success=True)
    return [h["text"] for h in hits]


if __name__ == "__main__":
    print("\n".join(main(Tenet().user("sarah"))))
