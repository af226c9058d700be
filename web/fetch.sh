#!/bin/sh
# Fetches what builds and checks the pages' scripts into web/node_modules, in the versions of package-lock.json.
# No script of a package is run. Where it cannot be fetched it says why, and what needs it is skipped: status 0.
# Status 1: package-lock.json is wrong.
set -eu
cd "$(dirname "$0")"

skip() {
  echo "SKIPPED: building and checking the pages' scripts: $*"
  exit 0
}

command -v node >/dev/null || skip "node is absent; install Node.js 18 or newer."
[ "$(node --print 'Number(process.versions.node.split(".")[0]) >= 18')" = true ] ||
  skip "Node.js $(node --version) is too old; install 18 or newer."
command -v npm >/dev/null || skip "npm is absent; install it beside Node.js."
said=$(npm ci --ignore-scripts --no-audit --no-fund --loglevel error --fetch-retries 1 --fetch-timeout 30000 2>&1) && exit
rm -rf node_modules # so that the next run tries again
code=$(echo "$said" | sed -n 's/^npm [A-Za-z!]* code //p')
case $code in
EUSAGE | EINTEGRITY | EJSONPARSE) # package-lock.json does not fit package.json or what was fetched
  echo "$said" >&2
  exit 1
  ;;
esac
skip "npm cannot fetch their packages (${code:-unknown}); 'npm ci' in web/ says more."
