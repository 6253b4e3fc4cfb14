# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
# The whole of srnic: kernel module, user provider, tests.
#
#   make                     module for the running kernel, and the provider
#   sudo make install        both, and the UAPI header; then modprobe srnic
#   make demo                everything shown in a virtual machine
#   make check               all tests
#   make guest-tests         the programs that tests in the guest run; part of all where librdmacm-dev is installed
#
# KDIR: kernel build tree. RDMA_CORE_SRC: prepared rdma-core source. DESTDIR: as usual.

KDIR ?= /lib/modules/$(shell uname -r)/build
KVER = $(shell $(MAKE) -s -C $(KDIR) $(if $(ARCH),ARCH=$(ARCH)) kernelrelease 2>/dev/null)
MODDIR = $(DESTDIR)/lib/modules/$(KVER)/updates
INCDIR = $(DESTDIR)/usr/include/rdma

.PHONY: all module userspace guest-tests install install-module install-userspace uninstall check demo bench clean

all: module userspace $(if $(wildcard /usr/include/rdma/rdma_cma.h),guest-tests)

module:
	@test -e $(KDIR)/Makefile || { echo "srnic: no kernel headers at $(KDIR): install your kernel's header" \
		"package (Debian: apt install linux-headers-amd64) or set KDIR." >&2; exit 1; }
	$(MAKE) -C $(KDIR) M=$(CURDIR)/kernel $(if $(ARCH),ARCH=$(ARCH)) modules

userspace:
	$(MAKE) -C userspace

# Programs of the tests that run in a guest.
guest-tests:
	$(foreach dir,$(wildcard selftests/rdma/*/Makefile),$(MAKE) -C $(dir $(dir)) &&) true

install: install-module install-userspace

install-module:
	install -D -m 0644 kernel/srnic.ko $(MODDIR)/srnic.ko
	install -D -m 0644 include/uapi/rdma/srnic-abi.h $(INCDIR)/srnic-abi.h
	$(if $(DESTDIR),,depmod $(KVER))

install-userspace:
	$(MAKE) -C userspace install

uninstall:
	rm -f $(MODDIR)/srnic.ko $(INCDIR)/srnic-abi.h
	$(MAKE) -C userspace uninstall
	$(if $(DESTDIR),,depmod $(KVER))

check:
	@selftests/check

demo:
	@selftests/demo

clean:
	-$(MAKE) -C $(KDIR) M=$(CURDIR)/kernel clean
	$(MAKE) -C userspace clean
	$(foreach dir,core provider sim fuzz,$(MAKE) -C selftests/$(dir) clean &&) true
	$(MAKE) -C selftests/rdma/hostile clean
