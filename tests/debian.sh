#!/bin/sh
# Downloads packages of a Debian suite and unpacks them into DIR/root, for what the tests need of another suite.
#
#   sh tests/debian.sh DIR SUITE COMPONENTS PACKAGE...
#
# Nothing is installed, no root is needed, and apt's settings and lists of this machine stay as they are: apt works in
# DIR/apt with a source of its own. DEBIAN_MIRROR names another mirror.
#
# Exit status: 0 done, 2 wrong use, 3 they cannot be had here.
set -eu

keyring=/usr/share/keyrings/debian-archive-keyring.gpg

say() { echo "debian.sh: $*" >&2; }
cannot() {
  say "$*"
  exit 3
}

[ $# -ge 4 ] || {
  say "usage: sh tests/debian.sh DIR SUITE COMPONENTS PACKAGE..."
  exit 2
}
for program in apt-get apt-config dpkg; do
  command -v "$program" >/dev/null || cannot "there is no $program: this is no Debian."
done
[ -r "$keyring" ] || cannot "there is no $keyring: install Debian's package debian-archive-keyring."
mkdir -p "$1" 2>/dev/null && [ -w "$1" ] || cannot "the folder $1 cannot be written."
dir=$(cd "$1" && pwd) suite=$2 components=$3
shift 3

rm -rf "$dir/apt" "$dir/root" "$dir/complete"
mkdir -p "$dir/apt/lists/partial" "$dir/apt/cache/archives/partial" "$dir/apt/debs"
: >"$dir/apt/status"
mirror=${DEBIAN_MIRROR:-http://deb.debian.org/debian}
echo "deb [signed-by=$keyring] $mirror $suite $components" >"$dir/apt/sources.list"
# This machine's proxies and the like, without what it runs after an update.
apt-config dump | grep '^Acquire::' >"$dir/apt/apt.conf" || :
cat >>"$dir/apt/apt.conf" <<EOF
Dir::Etc::main "/dev/null";
Dir::Etc::parts "/dev/null";
Dir::Etc::sourcelist "$dir/apt/sources.list";
Dir::Etc::sourceparts "/dev/null";
Dir::Etc::preferencesparts "/dev/null";
Dir::State "$dir/apt";
Dir::State::status "$dir/apt/status";
Dir::Cache "$dir/apt/cache";
APT::Update::Error-Mode "any";
APT::Sandbox::User "$(id -un)";
Acquire::Languages "none";
Acquire::Retries "2";
EOF
export APT_CONFIG="$dir/apt/apt.conf"

say "downloading $* from $mirror ..."
apt-get -qq update >"$dir/apt/log" 2>&1 || {
  cat "$dir/apt/log" >&2
  cannot "the lists of packages could not be read from $mirror: no network, or not this mirror."
}
(cd "$dir/apt/debs" && apt-get -qq download "$@") >"$dir/apt/log" 2>&1 || {
  cat "$dir/apt/log" >&2
  cannot "the packages could not be downloaded."
}
for deb in "$dir"/apt/debs/*.deb; do
  dpkg -x "$deb" "$dir/root"
done
rm -rf "$dir/apt"
