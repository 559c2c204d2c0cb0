#!/bin/sh
# Puts the pgvector extension where the newest PostgreSQL of this machine finds
# it, as root: from the distribution's package or, where it has none (Debian 12),
# from Debian's source of it, whose signature apt checks, compiled against the
# server's headers. Headers are unpacked beside, so that no package is upgraded.
set -eu

say() { echo "test-pgvector: $*" >&2; }

bin=$(ls -d /usr/lib/postgresql/*/bin 2>/dev/null | sort -t/ -k5 -n | tail -1)
[ -n "$bin" ] || { say "PostgreSQL is not installed"; exit 1; }
version=$(basename "$(dirname "$bin")")
extensions=/usr/share/postgresql/$version/extension
[ -s "$extensions/vector.control" ] && exit 0
if [ "$(id -u)" != 0 ] || ! command -v apt-get >/dev/null 2>&1; then
	say "missing; install postgresql-$version-pgvector, or pgvector 0.7 or later from its source"
	exit 1
fi
apt-get -qq update >&2 || true
if apt-cache show "postgresql-$version-pgvector" >/dev/null 2>&1; then
	DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "postgresql-$version-pgvector" >&2
	exit
fi

at=$(mktemp -d)
trap 'rm -rf "$at"' EXIT
cd "$at"
mkdir -p lists/partial cache
. /etc/os-release
mirror=$(apt-get indextargets --format '$(REPO_URI)' 'Identifier: Packages' "Release: $VERSION_CODENAME" | head -1)
[ -n "$mirror" ] || { say "apt knows no mirror of $VERSION_CODENAME"; exit 1; }
echo "deb-src [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] $mirror trixie main" >sources.list
source_of() {
	apt-get -qq -o "Dir::Etc::SourceList=$at/sources.list" -o Dir::Etc::SourceParts=/dev/null \
		-o "Dir::State::Lists=$at/lists" -o "Dir::Cache=$at/cache" -o APT::Sandbox::User=root "$@" >&2
}
source_of update
source_of source --download-only pgvector
apt-get -qq -o APT::Sandbox::User=root download "postgresql-server-dev-$version" >&2
dpkg -x postgresql-server-dev-*.deb headers
tar -xzf pgvector_*.orig.tar.gz
cd pgvector-*/
made=$(sed -n "s/^default_version = '\(.*\)'/\1/p" vector.control)
cc -O2 -ftree-vectorize -fassociative-math -fno-signed-zeros -fno-trapping-math -fPIC -shared \
	-I "$at/headers/usr/include/postgresql/$version/server" -o vector.so src/*.c -lm
install -m 755 vector.so "/usr/lib/postgresql/$version/lib/vector.so"
install -m 644 sql/vector.sql "$extensions/vector--$made.sql"
install -m 644 vector.control "$extensions/vector.control"
say "pgvector $made compiled for PostgreSQL $version"
