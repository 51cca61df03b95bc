#!/bin/sh
# The tests marked `versions`, with another Python and other versions of what shoal builds on, in a venv of their own; and
# how long that took:
#   sh tools/elsewhere.sh 3.13 .venv-3.13 constraints.txt [pytest's options]
set -eu
version=$1 venv=$2 constraints=$3
shift 3
began=$(date +%s)

if ! python=$(sh tools/python.sh "$version"); then
  cat >&2 << END
**********************************************************************
  Python $version was not found: NOTHING WAS TRIED WITH IT.
**********************************************************************
END
  exit 0
fi
ready=$venv/.ready
if [ ! -e "$ready" ] || [ pyproject.toml -nt "$ready" ] || [ "$constraints" -nt "$ready" ]; then
  echo "installing shoal into $venv, with $constraints …"
  rm -rf "$venv"
  "$python" -m venv "$venv"
  "$venv/bin/python" -m pip --quiet --disable-pip-version-check install -c "$constraints" -e '.[milp,postgres,report,spark,test]'
  touch "$ready"
fi
"$venv/bin/python" -m pytest -m "versions and not slow" "$@"
echo "$(($(date +%s) - began)) s  everything with Python $version and $constraints"
