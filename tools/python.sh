#!/bin/sh
# Print where a version of Python is: `sh tools/python.sh 3.13`. Fails if it is nowhere.
# A name on PATH may be pyenv's stand-in for a version that is not chosen: it counts if it runs.

version=$1
for program in "python$version" "${PYENV_ROOT:-$HOME/.pyenv}"/versions/"$version".*/bin/python; do
  "$program" -c 'import sys; print(sys.executable)' 2> /dev/null && exit 0
done
exit 1
