# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
# systemd boots in a container: PID 1 of a namespace of its own, with this machine's files, devices and interfaces. The
# kernel goes on, so what a boot finds is what the last power off has left. Sourced after lib.sh.
# shellcheck shell=bash

SYSTEMD=/usr/lib/systemd/systemd

systemd_or_skip() {
	[ ! -d /run/systemd/system ] || skip "systemd runs this machine already"
	[ -x $SYSTEMD ] || skip "systemd is not installed"
	[ -e /usr/lib/systemd/system/srnic@.service ] ||
		skip "srnic@.service is not there: make install, on a machine with systemd"
	needs systemctl journalctl
}

# The interfaces' units come from the udevd that systemd starts.
own_udevd_down() { pkill -x systemd-udevd; }
own_udevd_up() { /usr/lib/systemd/systemd-udevd --daemon; }

# systemd answers only processes of its own namespace.
inside() { nsenter --target "$INIT" --pid --mount "$@"; }

is() { [ "$(inside systemctl show --value -p ActiveState "$2")" = "$1" ]; } # STATE UNIT

# With a /tmp of its own: bookworm's systemd empties it. Mounts are shared, as systemd has them where the kernel starts it:
# otherwise services with mount namespaces of their own would keep what is unmounted.
boots() {
	unshare --pid --fork --mount --mount-proc sh -c \
		'mount --make-rshared / && mount -t tmpfs tmpfs /tmp && exec env container=lab "$@"' boots \
		$SYSTEMD --unit=multi-user.target >"$LOGS/systemd" 2>&1 &
	CONTAINER=$!
	within 50 has_init && within 600 is active multi-user.target && return
	tail -n 50 "$LOGS/systemd"
	inside systemctl list-jobs
	return 1
}

has_init() {
	INIT=$(pgrep -P "$CONTAINER")
	[ -n "$INIT" ]
}

powers_off() {
	inside systemctl poweroff
	within 600 gone || { tail -n 50 "$LOGS/systemd"; return 1; }
	rm -rf /run/systemd
}

gone() { ! kill -0 "$CONTAINER" 2>/dev/null; }
