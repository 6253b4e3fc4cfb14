#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
# Runs all fuzz targets in parallel for SECONDS_EACH and prints TAP. A crash fails, and leaves its input behind.
build=$1 corpus=$2
shift 2

echo "1..$#"
pids=()
for target; do
	mkdir -p "$build/new-$target" "$corpus/$target"
	"$build/fuzz-$target" -max_total_time="${SECONDS_EACH:-60}" -max_len="${MAX_LEN:-600}" -timeout=10 \
		-print_final_stats=1 -artifact_prefix="$build/crash-$target-" "$build/new-$target" "$corpus/$target" \
		>"$build/$target.log" 2>&1 &
	pids+=($!)
done

number=0 failed=0
for target; do
	result=ok
	wait "${pids[number]}" || result="not ok"
	number=$((number + 1))
	runs=$(sed -n 's/^stat::number_of_executed_units: *//p' "$build/$target.log")
	coverage=$(sed -n 's/.* cov: \([0-9]*\) .*/\1/p' "$build/$target.log" | tail -1)
	if [ "$result" != ok ]; then
		failed=1
		sed 's/^/# /' "$build/$target.log" | tail -60
	fi
	echo "$result $number - fuzz $target: ${runs:-0} runs, $coverage edges"
done
exit $failed
