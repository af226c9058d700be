#!/bin/sh
# Fetches the Nsight Systems that Debian ships (nsys 2023.4) for the tests, and prints the path of its nsys.
#
#   sh tests/nsys/fetch.sh DIR
#
# About 190 MB are downloaded, see tests/debian.sh, and 700 MB lie in DIR afterwards; a second run finds them there. It
# needs no GPU, and neither does nsys for NVTX ranges.
#
# Exit status: 0 done, 1 what was fetched does not run, 2 wrong use, 3 it cannot be fetched here.
set -eu

suite=trixie # the first with nsys 2023.4; the packages run on older ones too
packages="nsight-systems nsight-systems-target libssh-4 libnvtoolsext1" # the last for programs that open ranges

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
# shellcheck disable=SC2086  # several packages
sh "$(dirname "$0")/../debian.sh" "$dir" "$suite" "main non-free" $packages
# nsys looks for its importer beside its own folder; the packages have it elsewhere.
for host in "$dir"/root/usr/lib/nsight-systems/host-*; do
  for targets in "$dir"/root/usr/lib/*/nsight-systems; do
    ln -s "../../nsight-systems/${host##*/}" "$targets/${host##*/}"
  done
done
for recipes in "$dir"/root/usr/lib/*/nsight-systems/target-*/python/packages/nsys_recipe; do
  mkdir -p "$recipes/third_party" # they look for it, the package lacks it
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
