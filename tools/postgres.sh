#!/bin/sh
# See to it that the tests find a PostgreSQL to start; called by `make test`.
# Installs one on Debian when run as root, and otherwise says what is missing. Never fails: tests/conftest.py decides
# whether a missing PostgreSQL is a skip or, in CI, a failure.

found() {
  command -v initdb > /dev/null && return
  for program in /usr/lib/postgresql/*/bin/initdb; do
    [ -x "$program" ] && return
  done
  return 1
}

install() {
  # The tests start a server of their own: the package must not create and start one for the whole machine.
  settings=/etc/postgresql-common/createcluster.conf
  if [ ! -e "$settings" ]; then
    mkdir -p "${settings%/*}" && echo "create_main_cluster = false" > "$settings" || return
  fi
  export DEBIAN_FRONTEND=noninteractive UCF_FORCE_CONFFOLD=1
  apt-get update -qq &&
    apt-get install -qq --yes --no-install-recommends -o Dpkg::Options::=--force-confold postgresql < /dev/null
}

found && exit 0
if [ "$(id -u)" = 0 ] && command -v apt-get > /dev/null; then
  echo "installing PostgreSQL for the tests …"
  install
  found && exit 0
fi
cat >&2 << 'END'
**********************************************************************
  PostgreSQL was not found: ITS TESTS WILL BE SKIPPED.
  Install its server, so that `initdb` is on PATH, and run again:
    Debian, Ubuntu   apt-get install postgresql
    Fedora           dnf install postgresql-server
    macOS            brew install postgresql
  In CI (the variable CI is set) these tests fail instead.
**********************************************************************
END
exit 0
