#!/bin/sh
# Installs the wheel in each newer Python that is here, and runs commands and the tests of reading there.
#
#   sh tests/pythons/run.sh WHEEL
#
# PYTHONS: the versions, by default 3.12 to 3.14. UV names uv. TORCH=1 installs torch, too (3 GB each), and runs the
# tests of the annotation there, and its programs in OLDER: by default 3.8, which PYTHON, where tcprof is, starts. A
# version that is not here is named and left out; 3.14 is fetched from Debian.
set -eu

uv=${UV:-uv}
# Each of many processes would compile all that it imports anew.
unset PYTHONDONTWRITEBYTECODE

find_python() {
  for candidate in "python$1" "${PYENV_ROOT:-$HOME/.pyenv}/versions/$1".*/bin/python; do
    if "$candidate" -c "import sys; sys.exit('%d.%d' % sys.version_info[:2] != '$1')" 2>/dev/null; then
      echo "$candidate"
      return
    fi
  done
  [ "$1" = 3.14 ] && UV=$uv sh tests/pythons/fetch.sh build/python3.14
}

for version in ${PYTHONS:-3.12 3.13 3.14}; do
  printf '\n== Python %s\n' "$version"
  found=$(find_python "$version") || {
    echo "SKIPPED: there is no Python $version: put python$version on PATH."
    continue
  }
  folder=build/pythons/$version
  python=$folder/bin/python
  "$uv" venv --quiet --clear --python "$found" "$folder"
  "$uv" pip install --quiet --python "$python" "$1"
  for fixture in mlp_fp32 mlp_fp16; do
    "$folder/bin/tcprof" show "fixtures/$fixture.sqlite" >/dev/null
    "$folder/bin/tcprof" report "fixtures/$fixture.sqlite" -o "$folder/$fixture.html" --force >/dev/null
  done
  "$folder/bin/tcprof" compare fixtures/mlp_fp32.sqlite fixtures/mlp_fp16.sqlite >/dev/null
  "$uv" pip install --quiet --python "$python" --constraint constraints.txt hypothesis pytest pytest-timeout pytest-xdist
  tests="test_cli*.py test_fixtures.py test_redact.py test_saved.py test_sources.py test_kineto.py test_history_cli.py
    test_trends.py test_portable.py test_comparison_page.py test_annotate_nvtx.py"
  if [ -n "${TORCH:-}" ]; then
    "$uv" pip install --quiet --python "$python" torch
    tests="$tests test_annotate*.py"
  else
    echo "SKIPPED: the annotation in Python $version: TORCH=1 installs torch there."
  fi
  # shellcheck disable=SC2046  # several files
  "$python" -m pytest --quiet --numprocesses auto --dist loadfile $(for each in $tests; do echo tests/$each; done)
done

for version in ${TORCH:+${OLDER:-3.8}}; do
  printf '\n== Python %s: the annotation\n' "$version"
  found=$(find_python "$version") || {
    echo "SKIPPED: there is no Python $version: put python$version on PATH."
    continue
  }
  folder=build/pythons/$version
  "$uv" venv --quiet --clear --python "$found" "$folder"
  "$uv" pip install --quiet --python "$folder/bin/python" --only-binary nvtx numpy nvtx torch
  # PyTorch before 2.5 calls the modules of what it has compiled by names of its own.
  USER_PYTHON=$folder/bin/python "${PYTHON:-python3}" -m pytest --quiet -k "not compiled" tests/test_annotate.py
done
