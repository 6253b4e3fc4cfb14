# shellcheck shell=bash
# A guest root with further Debian packages: a copy of the usual one in which apt has installed them, so that their
# installation (a DKMS build, say) does not run in the slow guest. Sourced; package_root_ready is the entry.

# shellcheck source=root.sh
. "${BASH_SOURCE[0]%/*}/root.sh"

apt_install() { # ROOT PACKAGE...: names, or files in the root
	in_root --writable "$1" sh -euc '
		export DEBIAN_FRONTEND=noninteractive
		apt-get update -qq
		apt-get install -y --no-install-recommends "$@"
		rm -rf /var/lib/apt/lists/*
		apt-get clean
	' sh "${@:2}"
}

make_package_root() {
	local dir=$1 p names=()
	shift
	rm -rf "$dir.new"
	cp -a --reflink=auto "$ROOT" "$dir.new" || return
	mkdir "$dir.new/packages"
	for p; do
		if [ -f "$p" ]; then
			cp -- "$p" "$dir.new/packages/"
			names+=("/packages/${p##*/}")
		else
			names+=("$p")
		fi
	done
	apt_install "$dir.new" "${names[@]}" && rm -rf "$dir.new/packages" || return
	mv "$dir.new" "$dir"
}

# Sets GUEST_ROOT, and PACKAGED if one of the packages is a file, so contains the project ("$@": files and names).
package_root_ready() {
	local p
	for p; do
		[[ $p != *.deb ]] || PACKAGED=yes
	done
	GUEST_ROOT=$ROOT-with-$(for p; do echo "${p##*/}"; [[ $p != *.deb ]] || sha256sum <"$p"; done | key)
	[ -d "$GUEST_ROOT" ] || step "installing $*" make_package_root "$GUEST_ROOT" "$@"
	touch "$GUEST_ROOT"
}

# A throw-away layer over that root, in the directory $WORK/NAME.
layer_up() { # [NAME]
	local name=${1:-layer}
	mkdir "$WORK/$name" "$WORK/$name.upper" "$WORK/$name.work"
	mount -t overlay -o "lowerdir=$GUEST_ROOT,upperdir=$WORK/$name.upper,workdir=$WORK/$name.work" overlay "$WORK/$name"
	# shellcheck disable=SC2016 # expanded at the end
	at_exit 'umount "$WORK/'"$name"'"'
}

in_layer() { in_root --writable "$WORK/layer" "$@"; }
