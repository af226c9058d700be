#!/bin/sh
# Fetches what builds and checks the pages' scripts into web/node_modules, in the versions of package-lock.json.
# No script of a package is run. Where it cannot be fetched it says why, and what needs it is skipped: status 0.
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
# npm leaves nothing behind if it fails, so that the next run tries again.
said=$(npm ci --ignore-scripts --no-audit --no-fund --loglevel error --fetch-retries 1 --fetch-timeout 30000 2>&1) || {
  rm -rf node_modules
  skip "npm cannot fetch their packages: $(echo "$said" | grep -v '^npm error A complete log' | tail -n 1)"
}
