"""LangGraph's PostgresSaver and PostgresStore for bench-langgraph.sh, a slice of time at a go: a line "put 8 1.5" on
stdin is answered with operations a second of 8 threads in 1.5 seconds. The state's bytes are in the file of argv[1]."""
import os, sys, threading, time
from langgraph.checkpoint.postgres import PostgresSaver
from langgraph.store.postgres import PostgresStore
from psycopg.rows import dict_row
from psycopg_pool import ConnectionPool

state = open(sys.argv[1], "rb").read()
pid = os.getpid()
pool = ConnectionPool(os.environ["TENET_TEST_POSTGRES"], min_size=1, max_size=32, kwargs={"autocommit": True, "prepare_threshold": 0, "row_factory": dict_row})
# A saver holds a lock of its own while it works, so clients that are to run
# beside each other have one each.
savers, store, last, versions = {}, PostgresStore(pool), {}, {}
PostgresSaver(pool).setup()
store.setup()
print("ready", flush=True)

def put(c, i):
    config = last.get(c) or {"configurable": {"thread_id": "%d-%d" % (pid, c), "checkpoint_ns": ""}}
    v = versions[c] = versions.get(c, 0) + 1
    checkpoint = {"v": 4, "ts": "2026-03-01T09:00:00+00:00", "id": "%032d" % v, "channel_values": {"state": state},
        "channel_versions": {"state": v}, "versions_seen": {}, "pending_sends": [], "updated_channels": None}
    last[c] = savers[c].put(config, checkpoint, {"source": "loop", "step": v, "parents": {}}, {"state": v})

def get(c, i):
    if savers[c].get_tuple({"configurable": {"thread_id": "%d-%d" % (pid, c), "checkpoint_ns": ""}}).checkpoint["channel_values"]["state"] != state:
        raise Exception("another state")

def store_put(c, i):
    store.put(("u%d" % c,), "k%d" % (i % 50), {"text": "The value of number %d is of ordinary length." % i})

def store_get(c, i):
    store.get(("u%d" % c,), "k%d" % (i % 50))

def run(op, clients, seconds):
    counts = [0] * clients
    until = time.perf_counter() + seconds
    def work(c):
        i = 0
        while time.perf_counter() < until:
            op(c, i)
            i += 1
        counts[c] = i
    threads = [threading.Thread(target=work, args=(c,)) for c in range(clients)]
    begun = time.perf_counter()
    for t in threads: t.start()
    for t in threads: t.join()
    return sum(counts) / (time.perf_counter() - begun)

for line in sys.stdin:
    what, clients, seconds = line.split()
    for c in range(int(clients)):
        savers.setdefault(c, PostgresSaver(pool))
    print(run({"put": put, "get": get, "store-put": store_put, "store-get": store_get}[what], int(clients), float(seconds)), flush=True)
