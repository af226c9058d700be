#!/bin/sh
# Fetches the Nsight Systems that Debian ships (nsys 2023.4) for the tests, and prints the path of its nsys.
#
#   sh tests/nsys/fetch.sh DIR
#
# About 190 MB are downloaded, and 700 MB lie in DIR afterwards; a second run finds them there. Nothing is installed, no
# root is needed, and apt's settings and lists of this machine stay as they are: apt works in DIR with a source of its own.
# DEBIAN_MIRROR names another mirror. It needs no GPU, and neither does nsys for NVTX ranges.
#
# Exit status: 0 done, 1 what was fetched does not run, 2 wrong use, 3 it cannot be fetched here.
set -eu

suite=trixie # the first with nsys 2023.4; the packages run on older ones too
packages="nsight-systems nsight-systems-target libssh-4 libnvtoolsext1" # the last for programs that open ranges
keyring=/usr/share/keyrings/debian-archive-keyring.gpg

say() { echo "fetch.sh: $*" >&2; }
cannot() {
  say "$*"
  exit 3
}

[ $# = 1 ] || {
  say "usage: sh tests/nsys/fetch.sh DIR"
  exit 2
}
mkdir -p "$1" 2>/dev/null && [ -w "$1" ] || cannot "the folder $1 cannot be written."
dir=$(cd "$1" && pwd)
nsys=$dir/root/usr/bin/nsys
case $dir in
*[[:space:]]*) cannot "nsys cannot start programs from a path with a space: $dir" ;;
esac

if [ -e "$dir/complete" ] && "$nsys" --version >/dev/null 2>&1; then
  echo "$nsys"
  exit 0
fi
for program in apt-get apt-config dpkg; do
  command -v "$program" >/dev/null || cannot "there is no $program: this is no Debian."
done
[ -r "$keyring" ] || cannot "there is no $keyring: install Debian's package debian-archive-keyring."

rm -rf "$dir/apt" "$dir/root" "$dir/complete"
mkdir -p "$dir/apt/lists/partial" "$dir/apt/cache/archives/partial" "$dir/apt/debs"
: >"$dir/apt/status"
mirror=${DEBIAN_MIRROR:-http://deb.debian.org/debian}
echo "deb [signed-by=$keyring] $mirror $suite main non-free" >"$dir/apt/sources.list"
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

say "downloading about 190 MB from $mirror ..."
apt-get -qq update >"$dir/apt/log" 2>&1 || {
  cat "$dir/apt/log" >&2
  cannot "the lists of packages could not be read from $mirror: no network, or not this mirror."
}
# shellcheck disable=SC2086  # several packages
(cd "$dir/apt/debs" && apt-get -qq download $packages) >"$dir/apt/log" 2>&1 || {
  cat "$dir/apt/log" >&2
  cannot "the packages could not be downloaded."
}
for deb in "$dir"/apt/debs/*.deb; do
  dpkg -x "$deb" "$dir/root"
done
rm -rf "$dir/apt"
# nsys looks for its importer beside its own folder; the packages have it elsewhere.
for host in "$dir"/root/usr/lib/nsight-systems/host-*; do
  for targets in "$dir"/root/usr/lib/*/nsight-systems; do
    ln -s "../../nsight-systems/${host##*/}" "$targets/${host##*/}"
  done
done
"$nsys" profile --trace=nvtx --sample=none --cpuctxsw=none --output="$dir/trial" true >"$dir/log" 2>&1 || :
[ -e "$dir/trial.nsys-rep" ] || {
  cat "$dir/log" >&2
  say "nsys was fetched, but does not record here."
  exit 1
}
rm "$dir/log" "$dir/trial.nsys-rep"
: >"$dir/complete"
echo "$nsys"
