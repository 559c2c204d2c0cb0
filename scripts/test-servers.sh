#!/bin/sh
# Starts the servers that some tests need, from the distribution's packages, on
# loopback, on free ports, in a temporary folder:
#
#   eval "$(scripts/test-servers.sh start)"   prints TENET_TEST_... and its folder
#   scripts/test-servers.sh stop FOLDER       stops them and removes the folder
#   scripts/test-servers.sh run COMMAND...    start, run with them, stop
#   scripts/test-servers.sh install           installs what is missing, as root, pgvector too
#   scripts/test-servers.sh restart FOLDER    stops PostgreSQL hard and starts it; halt only stops it
#
# TENET_TEST_ONLY=postgres leaves out the proxy, Redis and the cluster.
# A server whose TENET_TEST_... is set already is left alone. With
# TENET_TEST_DURABLE=1 the server flushes to disk, as benchmarks want it.
set -eu

PACKAGES="postgresql pgbouncer redis-server"

say() { echo "test-servers: $*" >&2; }

bindir() { ls -d /usr/lib/postgresql/*/bin 2>/dev/null | sort -t/ -k5 -n | tail -1; }

install_packages() {
	[ -n "$(bindir)" ] && command -v pgbouncer >/dev/null 2>&1 && [ -n "$(redis)" ] && return
	if [ "$(id -u)" != 0 ] || ! command -v apt-get >/dev/null 2>&1; then
		say "missing servers, whose tests will say so; install: $PACKAGES"
		return
	fi
	say "installing $PACKAGES"
	{ apt-get update -qq || true; DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends $PACKAGES; } >&2
}

# Redis or Valkey, whichever is there.
redis() { command -v redis-server || command -v valkey-server || true; }

# PostgreSQL does not run as root.
as_postgres() {
	if [ "$(id -u)" = 0 ]; then
		su postgres -s /bin/sh -c "$1"
	else
		sh -c "$1"
	fi
}

# free_port is a guess: a server that finds its port taken does not start, and
# is tried on another one.
free_port() { echo $((20000 + $(od -An -N2 -tu2 /dev/urandom) % 30000)); }

# started prints the settings of servers that all stand, and leaves none behind
# when one does not, or when it is interrupted.
started() {
	dir=$(mktemp -d /tmp/tenet-servers.XXXXXX)
	trap 'stop "$dir"' EXIT
	trap 'exit 130' INT TERM HUP
	settings=$(start)
}

# start runs in a subshell of started, which has made dir.
start() {
	echo "export TENET_TEST_SERVERS=$dir"
	install_packages
	if [ -z "${TENET_TEST_POSTGRES:-}" ] && [ -n "$(bindir)" ]; then
		bin=$(bindir)
		[ "$(id -u)" = 0 ] && chown postgres "$dir"
		sync=--no-sync fsync=off
		[ "${TENET_TEST_DURABLE:-}" = 1 ] && sync= fsync=on
		as_postgres "$bin/initdb -D $dir/data -A trust -U postgres $sync -E UTF8 --locale=C.UTF-8" >"$dir/init" 2>&1 || { cat "$dir/init" >&2; exit 1; }
		tries=0
		while :; do
			port=$(free_port)
			as_postgres "$bin/pg_ctl -s -D $dir/data -l $dir/log -w -o '-p $port -k $dir -c listen_addresses=127.0.0.1 -c fsync=$fsync -c max_connections=300 -c autovacuum_naptime=5' start" >&2 && break
			tries=$((tries + 1))
			[ $tries -lt 5 ] || { cat "$dir/log" >&2; exit 1; } # the port was taken meanwhile
		done
		echo "export TENET_TEST_POSTGRES='postgres://postgres@127.0.0.1:$port/postgres?sslmode=disable'"
		if [ -z "${TENET_TEST_ONLY:-}" ] && command -v pgbouncer >/dev/null 2>&1; then
			tries=0
			while :; do
				bouncer=$(free_port)
				cat >"$dir/pgbouncer.ini" <<INI
[databases]
* = host=127.0.0.1 port=$port
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = $bouncer
unix_socket_dir =
auth_type = any
pool_mode = transaction
default_pool_size = 4
max_client_conn = 1000
logfile = $dir/pgbouncer.log
pidfile = $dir/pgbouncer.pid
INI
				# With auth_type any, whoever comes is this user.
				sed -i "s/^\* = host=127.0.0.1 port=$port/& user=postgres/" "$dir/pgbouncer.ini"
				[ "$(id -u)" = 0 ] && chown postgres "$dir/pgbouncer.ini"
				as_postgres "pgbouncer -q -d $dir/pgbouncer.ini" >&2 && proxied && break
				[ -f "$dir/pgbouncer.pid" ] && kill "$(cat "$dir/pgbouncer.pid")" 2>/dev/null || true
				rm -f "$dir/pgbouncer.pid"
				tries=$((tries + 1))
				[ $tries -lt 5 ] || { cat "$dir/pgbouncer.log" >&2; exit 1; } # the port was taken meanwhile
			done
			echo "export TENET_TEST_PGBOUNCER='postgres://postgres@127.0.0.1:$bouncer/postgres?sslmode=disable'"
		fi
	fi
	[ -z "${TENET_TEST_ONLY:-}" ] && [ -n "$(redis)" ] || return 0
	if [ -z "${TENET_TEST_REDIS:-}" ]; then
		start_redis single
		echo "export TENET_TEST_REDIS='redis://127.0.0.1:$port'"
	fi
	if [ -z "${TENET_TEST_REDIS_CLUSTER:-}" ]; then
		nodes= rest=
		for n in 1 2 3; do
			start_redis "node$n" --cluster-enabled yes --cluster-config-file "$dir/node$n.conf" --cluster-node-timeout 2000
			nodes="$nodes 127.0.0.1:$port"
			[ $n = 1 ] && first=$port || rest="$rest&addr=127.0.0.1:$port"
		done
		$(cli) --cluster create $nodes --cluster-yes >"$dir/cluster.log" 2>&1 || { cat "$dir/cluster.log" >&2; exit 1; }
		echo "export TENET_TEST_REDIS_CLUSTER='redis://127.0.0.1:$first?${rest#&}'"
	fi
}

# proxied waits until the proxy that was just started answers.
proxied() {
	wait=0
	while [ $wait -lt 50 ]; do
		[ -f "$dir/pgbouncer.pid" ] && kill -0 "$(cat "$dir/pgbouncer.pid")" 2>/dev/null &&
			"$bin/pg_isready" -q -h 127.0.0.1 -p "$bouncer" && return
		wait=$((wait + 1))
		sleep 0.1
	done
	return 1
}

cli() { command -v redis-cli || command -v valkey-cli; }

# start_redis NAME [OPTIONS] sets port.
start_redis() {
	name=$1
	shift
	save="--appendonly no"
	[ "${TENET_TEST_DURABLE:-}" = 1 ] && save="--appendonly yes --appendfsync always"
	mkdir "$dir/$name"
	tries=0
	while :; do
		port=$(free_port)
		"$(redis)" --port "$port" --bind 127.0.0.1 --save '' $save --dir "$dir/$name" --daemonize yes \
			--pidfile "$dir/$name.pid" --logfile "$dir/$name.log" "$@" >/dev/null
		wait=0
		while [ $wait -lt 50 ]; do
			itself && return
			wait=$((wait + 1))
			sleep 0.1
			grep -q 'Address already in use\|Failed listening' "$dir/$name.log" 2>/dev/null && break
		done
		[ -f "$dir/$name.pid" ] && kill -9 "$(cat "$dir/$name.pid")" 2>/dev/null || true
		rm -f "$dir/$name.pid"
		tries=$((tries + 1))
		[ $tries -lt 5 ] || { cat "$dir/$name.log" >&2; exit 1; } # the port was taken meanwhile
		: >"$dir/$name.log"
	done
}

# itself: who answers on the port is the server that was started, not one that
# had the port before.
itself() {
	[ -f "$dir/$name.pid" ] && [ "$($(cli) -p "$port" ping 2>/dev/null)" = PONG ] &&
		[ "$($(cli) -p "$port" info server 2>/dev/null | tr -d '\r' | sed -n 's/^process_id://p')" = "$(cat "$dir/$name.pid")" ]
}

stop() {
	dir=$1
	case "$dir" in /tmp/tenet-servers.*) ;; *) say "not a folder of mine: $dir"; exit 1 ;; esac
	for pid in "$dir"/single.pid "$dir"/node?.pid; do
		[ -f "$pid" ] && kill -9 "$(cat "$pid")" 2>/dev/null || true
	done
	[ -f "$dir/pgbouncer.pid" ] && kill "$(cat "$dir/pgbouncer.pid")" 2>/dev/null || true
	if [ -f "$dir/data/postmaster.pid" ] && ! as_postgres "$(bindir)/pg_ctl -s -D $dir/data -m immediate stop" >&2; then
		# A process that died leaves its file; one that lives still needs its folder.
		if kill -0 "$(head -1 "$dir/data/postmaster.pid")" 2>/dev/null; then
			say "PostgreSQL does not stop; its folder stays: $dir"
			return 1
		fi
	fi
	rm -rf "$dir"
}

case "${1:-}" in
start)
	started
	trap - EXIT
	echo "$settings"
	;;
halt)
	case "$2" in /tmp/tenet-servers.*) ;; *) say "not a folder of mine: $2"; exit 1 ;; esac
	as_postgres "$(bindir)/pg_ctl -s -D $2/data -w -m immediate stop" >&2
	;;
install)
	install_packages
	"$(dirname "$0")/test-pgvector.sh" || say "pgvector is missing, and its tests will say so"
	;;
stop) stop "$2" ;;
restart)
	case "$2" in /tmp/tenet-servers.*) ;; *) say "not a folder of mine: $2"; exit 1 ;; esac
	as_postgres "$(bindir)/pg_ctl -s -D $2/data -l $2/log -w -m immediate restart" >&2
	;;
run)
	shift
	started
	eval "$settings"
	"$@"
	;;
*)
	sed -n '2,14p' "$0" >&2
	exit 2
	;;
esac
