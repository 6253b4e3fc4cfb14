# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
# The sources that somebody builds packages from, for tests: srnic's tarball, and rdma-core's. Sourced, after the
# lab's scripts. WORK: the test's directory.
# shellcheck shell=bash

in_work() { in_root --bind "$WORK" /run/work "${GUEST_ROOT:-$ROOT}" env SRNIC_CACHE=/run/work/cache "$@"; }

# A checkout whose last commit is the tree as it is, uncommitted changes included.
checkout() { # DIRECTORY
	copy_tree "$1" && (
		cd "$1" && git init -q && git add -A && GIT_COMMITTER_DATE=@1800000000 GIT_AUTHOR_DATE=@1800000000 \
			git -c user.name=test -c user.email=test@localhost commit -q -m test
	)
}

# $WORK/rdma-core.tar.gz, of the release that the root has.
rdma_core_tarball() { in_work tar -C /usr/src --exclude=rdma-core/build -czf /run/work/rdma-core.tar.gz rdma-core; }
# That release.
rdma_core_release() { in_work sed -n 's/^set(PACKAGE_VERSION "\(.*\)")/\1/p' /usr/src/rdma-core/CMakeLists.txt; }
# $WORK/other: the same source, which says that it is of another release, 50.0.
other_rdma_core() {
	mkdir "$WORK/other" && tar -C "$WORK/other" --strip-components=1 -xf "$WORK/rdma-core.tar.gz" &&
		sed -i 's/^set(PACKAGE_VERSION ".*")/set(PACKAGE_VERSION "50.0")/' "$WORK/other/CMakeLists.txt"
}
