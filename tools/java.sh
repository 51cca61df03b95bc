#!/bin/sh
# See to it that the tests find a Java for Spark; called by `make test`.
# Installs one on Debian when run as root, and otherwise says what is missing. Never fails: tests/support/java.py decides
# whether a missing Java is a skip or, in CI, a failure.

found() {
  if [ -n "${JAVA_HOME:-}" ]; then
    [ -x "$JAVA_HOME/bin/java" ]
  else
    command -v java > /dev/null
  fi
}

install() {
  export DEBIAN_FRONTEND=noninteractive
  apt-get update -qq &&
    apt-get install -qq --yes --no-install-recommends openjdk-17-jre-headless < /dev/null
}

found && exit 0
if [ "$(id -u)" = 0 ] && [ -z "${JAVA_HOME:-}" ] && command -v apt-get > /dev/null; then
  echo "installing Java for the tests of Spark …"
  install
  found && exit 0
fi
cat >&2 << 'END'
**********************************************************************
  Java was not found: THE TESTS OF SPARK WILL BE SKIPPED.
  Install version 17 or newer, so that `java` is on PATH, and run again:
    Debian, Ubuntu   apt-get install openjdk-17-jre-headless
    Fedora           dnf install java-17-openjdk-headless
    macOS            brew install openjdk@17
  In CI (the variable CI is set) these tests fail instead.
**********************************************************************
END
exit 0
