# shellcheck shell=bash
# Debian packages that the lab needs on this machine; missing ones are installed with apt. Sourced.

# shellcheck source=common.sh
. "${BASH_SOURCE[0]%/*}/common.sh"

# Each line: a package, and a file that shows it is there.
needed() {
	cat <<-END
		mmdebstrap /usr/bin/mmdebstrap
		debian-archive-keyring /usr/share/keyrings/debian-archive-keyring.gpg
		e2fsprogs /sbin/mke2fs
		cpio /usr/bin/cpio
		rsync /usr/bin/rsync
		python3 /usr/bin/python3
	END
	[ -z "${COUNTS:-}" ] || echo "g++ /usr/bin/g++"	# for vm/instructions.cc
}

install_packages() {
	export DEBIAN_FRONTEND=noninteractive
	apt-get update -qq
	apt-get install -y -qq --no-install-recommends "$@"
}

deps_ready() {
	local package file missing=()
	while read -r package file; do
		[ -e "$file" ] || missing+=("$package")
	done < <(needed)
	[ ${#missing[@]} -gt 0 ] || return 0
	command -v apt-get >/dev/null ||
		die "please install ${missing[*]} (this machine has no apt-get to do it with)"
	step "installing ${missing[*]}" install_packages "${missing[@]}"
}
