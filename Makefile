# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
# The whole of srnic: kernel module, user provider, tests.
#
#   make                     module for the running kernel, and the provider
#   sudo make install        both, and the UAPI header; then modprobe srnic
#   make deb                 Debian packages, in build/deb
#   make rpm RDMA_CORE=FILE  RPM packages, in build/rpm; FILE: rdma-core's source, a tarball or directory
#   make demo                a demonstration in a virtual machine
#   make quick               tests of up to three minutes
#   make check               all tests
#   make soak                random and stress tests with larger counts, for hours
#   make bench               how fast srnic is beside siw, rxe and TCP; BENCH="--only send --compare FILE" and others
#   make profile CASE=write-64K   where the time of one of its cases goes
#   make kunit               the module with its KUnit suites, for selftests/rdma/kunit.sh
#   make dist                build/srnic-VERSION.tar.gz: the sources of the last commit, the same bytes each time
#   make guest-tests         programs and a kernel module for tests in the guest (librdmacm-dev); guest-programs and
#                            guest-modules are its halves
#
# KDIR: kernel build tree. RDMA_CORE_SRC: prepared rdma-core source. DESTDIR: as usual. TESTS: directories of selftests/rdma
# whose programs guest-programs makes.

KDIR ?= /lib/modules/$(shell uname -r)/build
# The kernel that the module was built for, by its vermagic.
KVER = $(shell grep -s -a -o -m 1 'vermagic=[^ ]*' kernel/srnic.ko | sed 's/.*=//')
MODDIR = $(DESTDIR)/lib/modules/$(KVER)/updates
INSTALLED = $(wildcard $(DESTDIR)/lib/modules/*/updates/srnic.ko)
TESTS ?= *
INCDIR = $(DESTDIR)/usr/include/rdma

.PHONY: all module userspace kunit guest-tests guest-programs guest-modules install install-module install-userspace \
	uninstall deb rpm dist quick check soak demo bench profile clean

all: module userspace

module:
	@test -e $(KDIR)/Makefile || { echo "srnic: no kernel headers at $(KDIR): install your kernel's header" \
		"package (Debian: apt install linux-headers-amd64) or set KDIR." >&2; exit 1; }
	$(MAKE) -C $(KDIR) M=$(CURDIR)/kernel $(if $(ARCH),ARCH=$(ARCH)) modules

# Relative ones are so from here.
paths = $(foreach name,DESTDIR RDMA_CORE_SRC,$(if $($(name)),$(name)=$(abspath $($(name)))))

userspace:
	$(MAKE) -C userspace $(paths)

# The module with its KUnit suites is built from a copy of the sources, so that the installed one stays without them.
KUNIT = build/kunit
sources = find . '(' -name '*.[ch]' -o -name '*.def' -o -name '*.cc' -o -name '*.hh' -o -name Kbuild -o -name probe ')' \
	! -name '*.mod.c' ! -name found.h

kunit:
	mkdir -p $(KUNIT)/kernel $(KUNIT)/include
	cd $(KUNIT)/kernel && rm -f $$($(sources))
	cd kernel && cp -p --parents $$($(sources)) ../$(KUNIT)/kernel/
	cp -pr include/uapi $(KUNIT)/include/
	$(MAKE) -C $(KDIR) M=$(CURDIR)/$(KUNIT)/kernel $(if $(ARCH),ARCH=$(ARCH)) CONFIG_RDMA_SRNIC_KUNIT_TEST=y modules
	cp $(KUNIT)/kernel/srnic.ko selftests/rdma/srnic-kunit.ko

# The suites want the KUnit of 6.5.
has-kunit = $(shell grep -s -q '^CONFIG_KUNIT=' $(KDIR)/include/config/auto.conf && \
	grep -v -s -E '^6\.[1-4]([^0-9]|$$)' $(KDIR)/include/config/kernel.release)

# For tests in a guest: programs, the same for all kernels; and modules, that of consumer.sh and, if the kernel has KUnit,
# srnic with its suites.
guest-tests: guest-programs guest-modules

guest-programs: userspace
	$(foreach dir,$(filter-out %/consumer/Makefile,$(wildcard $(TESTS:%=selftests/rdma/%/Makefile))),$(MAKE) -C $(dir $(dir)) &&) true
	$(MAKE) -C userspace/examples O=$(CURDIR)/selftests/rdma/examples/build

guest-modules: $(if $(has-kunit),kunit)
	$(MAKE) -C selftests/rdma/consumer

install: install-module install-userspace

install-module:
	@test -n "$(KVER)" || { echo "srnic: there is no kernel/srnic.ko to install: run make first" >&2; exit 1; }
	install -D -m 0644 kernel/srnic.ko $(MODDIR)/srnic.ko
	install -D -m 0644 include/uapi/rdma/srnic-abi.h $(INCDIR)/srnic-abi.h
	$(if $(DESTDIR),,depmod $(KVER))

install-userspace:
	$(MAKE) -C userspace install $(paths)

uninstall:
	$(MAKE) -C userspace uninstall $(paths)
	rm -f $(INSTALLED) $(INCDIR)/srnic-abi.h
	$(if $(DESTDIR),,$(foreach ko,$(INSTALLED),depmod $(ko:/lib/modules/%/updates/srnic.ko=%) &&) true)

deb:
	@packaging/make-deb

rpm:
	@packaging/make-rpm --source "$(RDMA_CORE)"

dist:
	@packaging/make-dist

quick check soak:
	@selftests/check $@

demo:
	@selftests/demo

bench:
	@selftests/bench $(BENCH)

profile:
	@selftests/profile $(CASE)

clean:
	-$(MAKE) -C $(KDIR) M=$(CURDIR)/kernel clean
	$(MAKE) -C userspace clean
	$(MAKE) -C userspace/examples clean
	$(foreach dir,core libsrnic srnicctl sim fuzz,$(MAKE) -C selftests/$(dir) clean &&) true
	$(foreach dir,$(wildcard selftests/rdma/*/Makefile),$(MAKE) -C $(dir $(dir)) clean &&) true
	rm -rf $(KUNIT) build/deb build/rpm build/srnic-*.tar.gz selftests/build selftests/rdma/examples selftests/rdma/srnic-kunit.ko
