"""One's own vector store beside Tenet, joined by record id: it finds, and Tenet says what still stands.

The vectors hold ids and nothing else worth stealing. A record that was superseded, retracted or erased is dropped when
the ids are read back, so the vector store can be late without ever being wrong.
"""
import math



class Vectors:
    def __init__(self, embed):
        self._embed, self._rows = embed, {}

    def upsert(self, id, text):
        self._rows[id] = self._embed(text)

    def search(self, query, k=5):
        q = self._embed(query)
        return sorted(self._rows, key=lambda id: -sum(a * b for a, b in zip(q, self._rows[id])))[:k]


def letters(text):
    """A stand-in for one's own embedding."""
    v = [float(text.lower().count(c)) for c in "abcdefghijklmnopqrstuvwxyz"]
    n = math.sqrt(sum(x * x for x in v)) or 1.0
    return [x / n for x in v]


def index(scope, vectors, query="hotel"):
    for hit in scope.recall(query, k=100)["hits"]:
        vectors.upsert(hit["id"], hit["text"])


def find(scope, vectors, query, k=5):
    """Texts that Tenet still holds, best first."""
    standing = {h["id"]: h["text"] for h in scope.recall(query, k=100)["hits"]}
    return [standing[id] for id in vectors.search(query, k) if id in standing]
