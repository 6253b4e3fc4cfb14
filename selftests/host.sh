# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
# Shared by scripts that run on the host. Sourced.
# shellcheck shell=bash

say() { echo "=== $*" >&2; }

# Installs the missing ones of these Debian packages.
host_packages() {
	local package missing=()
	for package; do
		dpkg-query -W -f='${Status}' "$package" 2>/dev/null | grep -q 'ok installed' || missing+=("$package")
	done
	[ ${#missing[@]} -gt 0 ] || return 0
	say "installing ${missing[*]}"
	export DEBIAN_FRONTEND=noninteractive
	apt-get update -qq -o Acquire::Retries=5 && apt-get install -y -qq --no-install-recommends -o Acquire::Retries=5 \
		-o DPkg::Lock::Timeout=600 "${missing[@]}" >/dev/null && return
	echo "srnic: these packages could not be installed: ${missing[*]}; please install them" >&2
	exit 1
}
