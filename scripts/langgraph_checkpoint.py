"""Times LangGraph's SqliteSaver on a checkpoint of 10 KB, for bench-checkpoint.sh."""
import sqlite3, sys, tempfile, time, os
from langgraph.checkpoint.sqlite import SqliteSaver

rounds = int(sys.argv[1])
path = os.path.join(tempfile.mkdtemp(), "lg.db")
conn = sqlite3.connect(path, check_same_thread=False)
saver = SqliteSaver(conn)
saver.setup()
if len(sys.argv) > 2:  # as durable as Tenet
    conn.execute("PRAGMA synchronous=" + sys.argv[2])
state = "0123456789abcdef" * 640
puts, gets = [], []
config = {"configurable": {"thread_id": "run", "checkpoint_ns": ""}}
for i in range(rounds):
    checkpoint = {
        "v": 4, "ts": "2026-03-01T09:00:00+00:00", "id": "%032d" % i,
        "channel_values": {"state": state}, "channel_versions": {"state": i + 1}, "versions_seen": {}, "pending_sends": [], "updated_channels": None,
    }
    start = time.perf_counter()
    config = saver.put(config, checkpoint, {"source": "loop", "step": i, "parents": {}}, {"state": i + 1})
    puts.append(time.perf_counter() - start)
    start = time.perf_counter()
    got = saver.get_tuple({"configurable": {"thread_id": "run", "checkpoint_ns": ""}})
    gets.append(time.perf_counter() - start)
    assert len(got.checkpoint["channel_values"]["state"]) == len(state)
mode = conn.execute("PRAGMA synchronous").fetchone()[0]
for name, xs in (("put", puts), ("get", gets)):
    xs.sort()
    print("LangGraph SqliteSaver (synchronous=%d) %s p50 %.0f us p99 %.0f us" % (mode, name, xs[len(xs) // 2] * 1e6, xs[int(len(xs) * .99)] * 1e6))
