#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
# The tests of this folder under the kernel's own runner (../Makefile): what it shows of one that passes, one that is
# skipped and one that fails; and an installed folder that runs elsewhere.
#
# KSFT: source of a kernel, or its folder tools/testing/selftests.
cd "$(dirname "$0")" && . ./lib.sh

KSFT=${KSFT:-/mnt/share}
TREE=$LOGS/tree
ELSEWHERE=$LOGS/elsewhere
NOT_BUILT="SKIP .*/examples/build/counter is not built: make guest-tests .*"
export COUNT=5 # of rping.sh

# A copy of the tests, with the programs of one only, in which another one fails.
tree_up() {
	mkdir -p "$TREE/rdma" && cp -a ../Makefile "$TREE/" &&
		cp -a Makefile settings config ./*.sh rping-client own-net-sys crowd "$TREE/rdma/" &&
		printf '%s\n' '#!/bin/bash' '. ./lib.sh' 'check "two are three" test 2 = 3' finish >"$TREE/rdma/fails.sh" &&
		chmod +x "$TREE/rdma/fails.sh"
}

in_tree() { make -C "$TREE" KSFT="$KSFT" "$@" 2>&1 | tee "$LOGS/said"; return "${PIPESTATUS[0]}"; }

# Each is a whole line of what was said last.
said() { # PATTERN...
	local pattern
	for pattern; do
		grep -qxE -- "$pattern" "$LOGS/said" || { echo "not said: $pattern"; return 1; }
	done
}

runs() { # WANTED-STATUS TESTS
	local status
	in_tree run_tests TESTS="$2"
	status=$?
	[ $((status != 0)) = "$1" ]
}

no_runner() { ! in_tree list KSFT=/nowhere && said "srnic: kselftest .*: unpack that \(Debian: linux-source\) and set KSFT to it\."; }

lists() { in_tree list && said srnic:rping.sh srnic:hostile.sh && ! grep -q chaos.sh "$LOGS/said"; }

unpacked_elsewhere() {
	in_tree gen_tar TESTS=rping.sh && mkdir "$ELSEWHERE" && tar -C "$ELSEWHERE" -xf "$TREE/build/kselftest.tar.gz" &&
		mv "$TREE" "$LOGS/away" && [ -x "$ELSEWHERE/srnic/crowd/build/crowd" ]
}

runs_elsewhere() {
	(cd / && "$ELSEWHERE/run_kselftest.sh") | tee "$LOGS/said"
	said "# ok 2 rping, IPv4, server in sr1" "ok 1 selftests: srnic: rping\.sh"
}

tree_up || { echo "Bail out! no copy of the tests"; exit 1; }
check "without a kernel's source there is one sentence" no_runner
check "the tests are listed, without those to run by hand" lists
check "a run with a test that passes and one that is skipped is good" runs 0 "rping.sh examples.sh"
check "the test passes, and its own lines are there" \
	said "# ok 2 rping, IPv4, server in sr1" "ok 1 selftests: srnic: rping\.sh"
check "the skip's reason is there, also in its result" said "# 1\.\.0 # $NOT_BUILT" "ok 2 selftests: .*examples\.sh # $NOT_BUILT"
check "the settings are in force" said "# timeout set to 1800"
check "a run with a test that fails is not" runs 1 "fails.sh"
check "what failed is there" said "# not ok 1 two are three" "not ok 1 selftests: srnic: fails\.sh # exit=1"
check "a tarball is unpacked elsewhere, with the programs" unpacked_elsewhere
check "its tests run there" runs_elsewhere
finish
