# shellcheck shell=bash
# The guest roots for arm64, of Debian packages that are only unpacked: their scripts are programs for arm64. Their kernels
# have pages of 4 KiB, or of 16. Sourced by root.sh, which calls bootstrap_arm64.

arm64_recipe() { declare -f bootstrap_arm64 add_headers finish_unpacked; }

bootstrap_arm64() {
	local dir=$1 suite=${RELEASE%%-*} kernel=linux-image-${RELEASE#*-} uri
	uri=$(mirror)
	mmdebstrap --variant=extract --architectures=arm64,amd64 --include='?and(?essential,?architecture(arm64))' \
		--include="$kernel,$(package_list -arm64 | paste -sd,)" --extract-hook="set -e; $(declare -f add_headers); add_headers \"\$1\"" \
		--dpkgopt='path-exclude=/usr/share/man/*' --dpkgopt='path-exclude=/usr/share/doc/*' \
		--dpkgopt='path-exclude=/usr/share/locale/*' "$suite" "$dir" \
		"deb [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] $uri $suite main" &&
		finish_unpacked "$dir"
}

# The kernel's headers, without the compiler that they depend on, and with tools that run on this machine.
add_headers() {
	local root=$1 kernel work deb
	kernel=$(basename "$root"/usr/lib/modules/*)
	work=$(mktemp -d)
	(cd "$work" && APT_CONFIG=$MMDEBSTRAP_APT_CONFIG apt-get download "linux-headers-$kernel:arm64" \
		"linux-headers-${kernel%%-*}-common" "linux-kbuild-${kernel%%-*}:amd64")
	for deb in "$work"/*.deb; do dpkg-deb --extract "$deb" "$root"; done
	rm -rf "$work"
}

# What the packages' scripts do that a guest needs.
finish_unpacked() {
	cp "$1/usr/share/base-passwd/passwd.master" "$1/etc/passwd"
	cp "$1/usr/share/base-passwd/group.master" "$1/etc/group"
	echo "127.0.0.1 localhost" >"$1/etc/hosts"
	ln -s mawk "$1/usr/bin/awk"
}

