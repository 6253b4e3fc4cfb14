# shellcheck shell=bash
# The kernel's source, from Debian's linux-source packages: of the version in the guest root, or the newest series, which
# that release's backports have. Kept packed in the cache; users unpack the parts they need. Sourced.

# shellcheck source=root.sh
. "${BASH_SOURCE[0]%/*}/root.sh"

# Of shells in the root: unpacks the package of the name $1 that is in the current directory, to $2 in the cache.
KEEP_SOURCE='
	dpkg --fsys-tarfile "$1"_*.deb | tar -xO "./usr/src/$1.tar.xz" >"/run/cache/$2.new"
	mv "/run/cache/$2.new" "/run/cache/$2"
'

fetch_linux_source() {
	in_root --writable --bind "$CACHE" /run/cache "$ROOT" sh -euc '
		trap "rm -rf /var/lib/apt/lists/*" EXIT
		version=$(dpkg-query -W -f "\${source:Version}" linux-kbuild-"${3%-*}")
		apt-get update -qq
		cd /tmp
		apt-get download -qq "$1=$version"
		'"$KEEP_SOURCE" sh "linux-source-$LINUX" "${1##*/}" "$RELEASE_KERNEL"
}

# A script in the root, where options are those for apt to know backports only.
in_backports() { # SCRIPT ARGUMENT...
	in_root --writable --bind "$CACHE" /run/cache "$ROOT" bash -euc '
		echo "deb [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] $0 trixie-backports main" >/tmp/backports.list
		options=(-qq -o Dir::Etc::SourceList=/tmp/backports.list -o Dir::Etc::SourceParts=-)
		trap "rm -rf /var/lib/apt/lists/*" EXIT
		cd /tmp
		apt-get update "${options[@]}"
		'"$1" "$(mirror)" "${@:2}"
}

fetch_newest_source() {
	in_backports 'apt-get download "${options[@]}" "$1"'"$KEEP_SOURCE" "linux-source-$LINUX" "${1##*/}"
}

# Can the newest series be had? Backports have one version of a series, and some months later none.
newest_there() {
	compgen -G "$CACHE/uml-newest-$NEWEST_LINUX-*" >/dev/null || [ -e "$CACHE/linux-source-$NEWEST_LINUX.tar.xz" ] ||
		in_backports 'apt-cache "${options[@]}" show "$1"' "linux-source-$NEWEST_LINUX" >/dev/null 2>&1
}

# Which kernel the source is of, as in names of the cache.
linux_name() {
	case $LINUX in
	"$NEWEST_LINUX") echo "$LINUX" ;;
	*) echo "$RELEASE_KERNEL" ;;
	esac
}

# Sets LINUX_SOURCE, the tarball.
linux_source_ready() {
	local fetch=fetch_linux_source
	[ "$LINUX" != "$NEWEST_LINUX" ] || fetch=fetch_newest_source
	LINUX_SOURCE=$CACHE/linux-source-$(linux_name).tar.xz
	touch -c "$LINUX_SOURCE"
	[ -e "$LINUX_SOURCE" ] || step "fetching the source of Linux $(linux_name)" $fetch "$LINUX_SOURCE"
}

# Unpacks the named paths of the source (default: all of it) into a directory.
linux_source_unpack() {
	local dir=$1 path members=()
	shift
	for path; do members+=("linux-source-$LINUX/$path"); done
	mkdir -p "$dir"
	tar -C "$dir" --strip-components=1 -xf "$LINUX_SOURCE" "${members[@]}"
}

unpack_kselftest() {
	rm -rf "$KSELFTEST.new"
	linux_source_unpack "$KSELFTEST.new" tools/testing/selftests/{lib.mk,run_kselftest.sh,kselftest} &&
		mv "$KSELFTEST.new" "$KSELFTEST"
}

# Sets KSELFTEST, a directory with the kernel's test runner in its place (tools/testing/selftests).
kselftest_ready() {
	KSELFTEST=$CACHE/kselftest-$RELEASE_KERNEL
	[ ! -d "$KSELFTEST" ] || { touch "$KSELFTEST"; return; }
	linux_source_ready
	step "unpacking the kernel's test runner" unpack_kselftest
}
