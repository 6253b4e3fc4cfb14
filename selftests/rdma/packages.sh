#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
# The installed Debian packages: the module that DKMS has built and the provider move data, and go without a trace, even
# while they are in use. For a guest that has them:
#	make deb && selftests/vm/run $(printf -- '--package %s ' build/deb/*.deb) selftests/rdma/packages.sh
cd "$(dirname "$0")" && . ./lib.sh

NAMES="srnic-dkms libsrnic1 libsrnic-dev srnic-tools"

module_is_of_dkms() {
	modinfo -n srnic
	[[ $(modinfo -n srnic) = */updates/dkms/srnic.ko* ]] && modprobe srnic
}

provider_is_of_package() { dpkg -S "$(realpath /usr/lib/*/libibverbs/libsrnic-rdmav*.so)" | grep libsrnic1; }

doctor_finds_no_failure() { ns0 srnicctl doctor || [ $? = 7 ]; }

purges() {
	# shellcheck disable=SC2086 # names
	apt-get purge -y $NAMES && rdma link show srnic0/1
}

nothing_left() { ! find / -xdev -iname '*srnic*' ! -path '/srnic*' | grep .; }

module_goes() {
	rdma link delete srnic0
	rdma link delete srnic1
	rmmod srnic && ! modinfo srnic
}

# shellcheck disable=SC2086 # names
dpkg -s $NAMES >/dev/null 2>&1 ||
	skip "srnic's Debian packages are not installed: make deb, and apt install build/deb/*.deb"
check "modprobe loads the module that DKMS has built" module_is_of_dkms
check "libibverbs has the provider of the package" provider_is_of_package
if hosts_up && devices_up; then
	check "rping moves data" rping_between sr1 sr0 "$IP1" "${COUNT:-100}" 65535
	check "srnicctl doctor finds no failure" doctor_finds_no_failure
	check "apt purges the packages while there are devices, which stay" purges
else
	check "there are devices" false
fi
check "nothing is left of them on the disk" nothing_left
check "the module can be unloaded" module_goes
finish
