"""Times LangGraph's PostgresSaver and PostgresStore for bench-langgraph.sh: operations a second."""
import os, sys, threading, time
from langgraph.checkpoint.postgres import PostgresSaver
from langgraph.store.postgres import PostgresStore
from psycopg.rows import dict_row
from psycopg_pool import ConnectionPool

dsn = os.environ["TENET_TEST_POSTGRES"]
state = "0123456789abcdef" * 640
seconds = 2.0

def run(name, clients, op):
    counts = [0] * clients
    until = time.perf_counter() + seconds
    def work(c):
        i = 0
        while time.perf_counter() < until:
            op(c, i)
            i += 1
        counts[c] = i
    threads = [threading.Thread(target=work, args=(c,)) for c in range(clients)]
    for t in threads: t.start()
    for t in threads: t.join()
    print("LangGraph %s, %d clients: %d/s" % (name, clients, sum(counts) / seconds), flush=True)

for clients in (1, 8, 64):
    with ConnectionPool(dsn, min_size=min(clients, 32), max_size=min(clients, 32), kwargs={"autocommit": True, "prepare_threshold": 0, "row_factory": dict_row}) as pool:
        saver, store = PostgresSaver(pool), PostgresStore(pool)
        saver.setup()
        store.setup()
        last = {}
        def put(c, i):
            config = last.get(c) or {"configurable": {"thread_id": "%d-%d" % (clients, c), "checkpoint_ns": ""}}
            checkpoint = {"v": 4, "ts": "2026-03-01T09:00:00+00:00", "id": "%032d" % i, "channel_values": {"state": state},
                "channel_versions": {"state": i + 1}, "versions_seen": {}, "pending_sends": [], "updated_channels": None}
            last[c] = saver.put(config, checkpoint, {"source": "loop", "step": i, "parents": {}}, {"state": i + 1})
        def get(c, i):
            saver.get_tuple({"configurable": {"thread_id": "%d-%d" % (clients, c), "checkpoint_ns": ""}})
        run("PostgresSaver: checkpoint put", clients, put)
        run("PostgresSaver: checkpoint get", clients, get)
        run("PostgresStore: put", clients, lambda c, i: store.put(("u%d" % c,), "k%d" % (i % 50), {"text": "The value of number %d is of ordinary length." % i}))
        run("PostgresStore: get", clients, lambda c, i: store.get(("u%d" % c,), "k%d" % (i % 50)))
