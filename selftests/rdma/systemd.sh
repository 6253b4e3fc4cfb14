#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
# srnic@.service under systemd, which boots in a container here, with all interfaces of the machine: the device of an
# interface is there before the services that need it, comes and goes with its interface, and is there again after the next boot.
# boot.sh has what the unit's commands do.
cd "$(dirname "$0")" && . ./lib.sh && . shared/systemd.sh

FILE=/etc/srnic/dummy7.conf
LIST=/sys/class/infiniband
RULE=/etc/udev/rules.d/90-other0.rules
NEEDS_IT=/etc/systemd/system/needs-it.service	# what a mount of NFS over RDMA is: after remote-fs-pre.target
UNITS="srnic@dummy7.service needs-it.service"

interface_up() { ip link add dummy7 type dummy && ip addr add 10.97.0.1/24 dev dummy7 && ip link set dummy7 up; }

has_device() { [ -e $LIST/store0 ]; }
has_no_device() { [ ! -e $LIST/store0 ]; }
has() { [ "$(cat $LIST/store0/"$1")" = "$2" ]; } # SETTING VALUE

enable() {
	mkdir -p /etc/srnic
	printf '%s\n' "name = store0" "mpa_crc = 0" >$FILE
	cat >$NEEDS_IT <<-END
		[Unit]
		After=remote-fs-pre.target
		[Service]
		Type=oneshot
		RemainAfterExit=yes
		ExecStart=/usr/bin/test -e $LIST/store0
		[Install]
		WantedBy=multi-user.target
	END
	# shellcheck disable=SC2086 # names
	systemctl --root=/ enable $UNITS
}

is_there() { is active srnic@dummy7.service && has_device && has mpa_crc "${1:-0}"; } # VALUE

needed_it() { inside systemctl status needs-it.service; is active needs-it.service; }

reloads() {
	sed -i 's/mpa_crc = 0/mpa_crc = 1/' $FILE
	inside systemctl reload srnic@dummy7 && has mpa_crc 1
}

sets_other0() { # VALUE
	sed -i "s/mpa_crc = .*/mpa_crc = $1/" $FILE
	inside systemctl reload srnic@dummy7 && [ "$(cat $LIST/other0/mpa_crc)" = "$1" ]
}

renamed_by_hand() {
	rdma dev set store0 name other0 && sets_other0 0 && inside systemctl restart srnic@dummy7 && has_device &&
		has mpa_crc 0 && [ ! -e $LIST/other0 ]
}

# As rdma-core's rule does it with rdma_rename, which leaves names alone that somebody gave (rdma-core 54, Linux 6.11).
renamed_by_udev() {
	echo "ACTION==\"add\", SUBSYSTEM==\"infiniband\", KERNEL==\"store0\", PROGRAM=\"$(command -v rdma) dev set %k name other0\"" \
		>$RULE
	inside udevadm control --reload && inside systemctl restart srnic@dummy7 && within 100 test -e $LIST/other0 &&
		[ "$(cat $LIST/other0/mpa_crc)" = 0 ] && sets_other0 1 && inside systemctl restart srnic@dummy7 &&
		within 100 test -e $LIST/other0 && inside systemctl stop srnic@dummy7 && [ ! -e $LIST/other0 ]
}

without_rule() {
	rm $RULE
	inside udevadm control --reload && inside systemctl start srnic@dummy7 && is_there 1
}

goes_with_interface() {
	ip link delete dummy7 && within 100 has_no_device && within 100 is inactive srnic@dummy7.service
}

# By now it has been started five times, on a quick machine within the ten seconds in which systemd allows no more.
comes_with_interface() {
	inside systemctl reset-failed srnic@dummy7
	interface_up && within 300 has_device && within 100 is active srnic@dummy7.service && return
	inside systemctl status --no-pager srnic@dummy7
	return 1
}

refused() {
	echo "mpa_crc = 2" >>$FILE
	! inside systemctl restart srnic@dummy7 && is failed srnic@dummy7.service && has_no_device || return
	inside journalctl --no-pager -u srnic@dummy7 | grep "settings of $FILE are refused"
}

mended() {
	sed -i '$d' $FILE
	inside systemctl restart srnic@dummy7 && has_device
}

# ---- all units at once ----

ib_up() { inside systemctl start srnic-ib@dummy7 && ib_is_there; }
ib_is_there() { is active srnic-ib@dummy7.service && [ -e $LIST/srnic-ib-dummy7 ]; }

# At once: srnic-stop.service. The units stop after the target.
stops_all() { ib_up && inside systemctl stop srnic.target && all_deleted && within 100 all_stopped; }

all_deleted() { has_no_device && [ ! -e $LIST/srnic-ib-dummy7 ]; }
all_stopped() { is inactive srnic@dummy7.service && is inactive srnic-ib@dummy7.service; }

# What is enabled.
starts_all() { inside systemctl start srnic.target && is_there 1; }

restarts_all() {
	local index
	inside systemctl reset-failed && ib_up && index=$(index_of store0) && inside systemctl restart srnic.target && is_there 1 &&
		ib_is_there && [ "$(index_of store0)" != "$index" ]
}

index_of() { rdma dev show "$1" | cut -d : -f 1; } # DEVICE

doctor_says() { srnicctl doctor | grep -F "	installed module: $1"; } # TEXT

reloads_module() {
	local before
	before=$(srcversion)
	change_module && doctor_says "another srnic is installed" && restarts_all && [ "$(srcversion)" = "$(rev <<<"$before")" ] &&
		doctor_says "the loaded one" && change_module_back && restarts_all && [ "$(srcversion)" = "$before" ] && return
	inside journalctl --no-pager -u srnic-module -u srnic@dummy7 | tail
	return 1
}

power_off_deletes() { powers_off && has_no_device; }

# shellcheck disable=SC2086 # names
disable() { systemctl --root=/ disable $UNITS && rm $NEEDS_IT $FILE; }

systemd_or_skip
[ ! -e $LIST/store0 ] || skip "there is a device store0 already"
interface_up || { echo "Bail out! no interface"; exit 1; }
own_udevd_down
if check "systemctl enables the unit for an interface" enable && check "systemd boots" boots; then
	check "the device is there, with the settings of its file" is_there
	check "what comes after remote-fs-pre.target found it" needed_it
	check "a reload sets what the file has now" reloads
	check "a device renamed by hand is set, and made again under its name" renamed_by_hand
	check "a device renamed by udev is set, made again and deleted" renamed_by_udev
	check "without the rule, it has its name again" without_rule
	check "the device goes with its interface" goes_with_interface
	check "and comes with it" comes_with_interface
	check "settings that are refused: the unit fails, and the journal says why" refused
	check "with a file that is right again it starts" mended
	check "when srnic.target has stopped, the devices of all units are gone, of both types" stops_all
	check "it starts those that are enabled" starts_all
	check "it restarts all" restarts_all
	if may_change_module; then
		check "with a new module, which doctor has missed" reloads_module
	else
		skip_one "with a new module" "the installed one is compressed"
	fi
	check "power off deletes the device" power_off_deletes
	check "after the next boot it is there again" boots && check "with what needs it" needed_it
	check "and goes again" power_off_deletes
fi
check "systemctl disables the unit" disable
ip link delete dummy7
own_udevd_up
finish
