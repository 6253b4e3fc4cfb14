# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
# Runs the parts of a test run in two parallel lanes, so that a processor is busy while a guest of the other lane waits.
# Prefixes each output line with its part. Sourced by check; tested by parts-test.
#
#	part LANE NAME COMMAND...	declares a part. LATEST=MINUTES before it: left out, and said to be, if it would begin
#					later than that
#	run_parts PROFILE		shows the plan, runs them all, shows a table and what failed, and ends with
#					"N passed, N failed"
# shellcheck shell=bash

CACHE=${SRNIC_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/srnic}
NAMES=() LANES=() COMMANDS=() LATESTS=()
FAILED='^not ok|^\[  FAILED  \]'

# LANE: 0 or 1: run in order of declaration; any: for a lane that has none left.
part() { # LANE NAME COMMAND...
	LANES+=("$1") NAMES+=("$2") LATESTS+=("${LATEST:-}")
	shift 2
	COMMANDS+=("${*@Q}")
}

# ---- how long each part took here ----

time_file() { echo "$CACHE/times/$PROFILE/${NAMES[$1]//[^A-Za-z0-9]/-}"; }

last_time() { cat "$(time_file "$1")" 2>/dev/null; }

# Only for a part that passed: one that fails may end early.
keep_time() { # PART SECONDS
	mkdir -p "$CACHE/times/$PROFILE" && echo "$2" >"$(time_file "$1")"
}

plan() {
	local i lane seconds lanes=(0 0) known=1
	echo "make $PROFILE, and how long each part took here last time:"
	for i in "${!NAMES[@]}"; do
		seconds=$(last_time "$i")
		printf '%8s s  %s\n' "${seconds:-?}" "${NAMES[i]}"
		[ -n "$seconds" ] || known=0
		lane=${LANES[i]}
		[ "$lane" != any ] || lane=$((lanes[0] > lanes[1]))
		lanes[lane]=$((lanes[lane] + ${seconds:-0}))
	done
	seconds=$((lanes[0] > lanes[1] ? lanes[0] : lanes[1]))
	[ $known = 0 ] || echo "All of it, in two lanes: about $(((seconds + 59) / 60)) minutes."
}

# ---- one part ----

# How many tests passed or failed in a log of TAP or GoogleTest. One that was skipped did neither.
count() { # LOG WHICH: "ok" or "not ok"; GoogleTest's word
	local tap gtest
	tap=$(grep -E "^$2 [0-9]" "$1" | grep -cv '# SKIP')
	gtest=$(sed -n "s/^\[  $3  \] \([0-9]*\) tests\?[.,].*/\1/p" "$1" | awk '{n += $1} END {print n + 0}')
	echo $((tap + gtest))
}

skips() { grep -cE '^(ok [0-9]|1\.\.0).*# SKIP' "$1"; } # LOG

# The failures in a log: each failed test with its output, or the last lines if no test failed.
failures() { # LOG
	grep -E -A 30 "$FAILED" "$1" | grep -E -v '^ok ' || tail -n 60 "$1"
}

too_late() { [ -n "${LATESTS[$1]}" ] && [ $((SECONDS - BEGAN)) -gt $((60 * LATESTS[$1])) ]; } # PART

# Runs it, or notes that it is too late for that.
begin_part() { # PART
	too_late "$1" || { run_part "$1"; return; }
	echo "left out: it would have begun after $(((SECONDS - BEGAN) / 60)) minutes, not ${LATESTS[$1]}" >"$RESULTS/$1.left"
	echo "0 0 0 0" >"$RESULTS/$1.result"
	say "${NAMES[$1]}: $(cat "$RESULTS/$1.left")"
}

# A failure without a failed test (a crash, a splat, a hang) counts as one.
run_part() { # PART
	local name=${NAMES[$1]} log=$RESULTS/$1 began=$SECONDS status passed failed why=
	say "$name"
	eval "${COMMANDS[$1]}" 2>&1 | tee "$log.log" | sed -u "s/^/$name: /"
	status=${PIPESTATUS[0]}
	passed=$(count "$log.log" ok PASSED)
	failed=$(count "$log.log" 'not ok' FAILED)
	if [ "$failed" = 0 ]; then
		[ "$passed" != 0 ] || why="not ok: it ran no test"
		[ "$status" = 0 ] || why="not ok: it ended with status $status"
		[ -z "$why" ] || failed=1
	fi
	if [ "$failed" != 0 ]; then
		failures "$log.log" | sed "s/^/$name: /" >"$log.failures"
		{ grep -E -m 5 "$FAILED" "$log.log" || echo "$why"; } | sed "s/^/$name: /" >"$log.names"
	else
		keep_time "$1" $((SECONDS - began))
	fi
	echo "$passed $failed $((SECONDS - began)) $(skips "$log.log")" >"$log.result"
}

# ---- all of them ----

lane() { # 0 or 1
	local i
	for i in "${!NAMES[@]}"; do
		[ "${LANES[i]}" != "$1" ] || begin_part "$i"
	done
	for i in "${!NAMES[@]}"; do
		[ "${LANES[i]}" != any ] || ! mkdir "$RESULTS/$i.taken" 2>/dev/null || begin_part "$i"
	done
}

# "what", then the files of that kind, part by part.
show() { # KIND WHAT
	local i shown=0
	for i in "${!NAMES[@]}"; do
		[ -e "$RESULTS/$i.$1" ] || continue
		[ $shown = 1 ] || echo "$2"
		shown=1
		cat "$RESULTS/$i.$1"
	done
}

# A part without a result did not come to its end: that is a failure, too.
table() {
	local i passed failed seconds skipped
	for i in "${!NAMES[@]}"; do
		read -r passed failed seconds skipped < <(cat "$RESULTS/$i.result" 2>/dev/null || echo "0 1 0 0")
		printf '%6d passed %4d failed %6d s  %s\n' "$passed" "$failed" "$seconds" \
			"${NAMES[i]}$([ "$skipped" = 0 ] || echo ", $skipped skipped")$([ ! -e "$RESULTS/$i.left" ] || echo ", $(cat "$RESULTS/$i.left")")"
	done
}

run_parts() { # PROFILE
	PROFILE=$1
	BEGAN=$SECONDS
	RESULTS=$(mktemp -d)
	trap 'rm -rf "$RESULTS"' EXIT
	trap 'trap - TERM; kill 0' INT TERM	# both lanes, and the guests that they wait for
	plan
	lane 0 &
	lane 1 &
	wait
	table >"$RESULTS/table"
	cat "$RESULTS/table"
	show failures "What failed:"	# last, for a reader who sees only the end
	show names "By name:"
	echo "$(((SECONDS - BEGAN + 59) / 60)) minutes in all"
	awk '{ passed += $1; failed += $3 }
		END { print passed + 0 " passed, " failed + 0 " failed"; exit (failed || !passed) }' "$RESULTS/table"
}
