# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
# What srnicctl consists of, for its build and that of its tests. Where things are: LIBDIR and SYSCONFDIR (the provider
# and its file of libibverbs), DATADIR (the udev rule), MULTIARCH (below /usr/lib, Debian's libibverbs).
SRNICCTL_DIR := $(dir $(abspath $(lastword $(MAKEFILE_LIST))))
SRNICCTL_SOURCES := address.cc commands.cc device.cc doctor.cc ending.cc filter.cc firewall.cc get_set.cc interface.cc \
	json.cc machine.cc modules.cc netlink.cc options.cc pairing.cc provider.cc rdma.cc settings.cc short.cc show.cc siw.cc snapshot.cc \
	system.cc text.cc top.cc usage.cc
SRNICCTL_FLAGS = -I$(SRNICCTL_DIR) -I$(SRNICCTL_DIR)../../include/uapi -I$(SRNICCTL_DIR)../../kernel \
	-DSRNIC_LIBDIR='"$(LIBDIR)"' -DSRNIC_SYSCONFDIR='"$(SYSCONFDIR)"' -DSRNIC_DATADIR='"$(DATADIR)"' \
	-DSRNIC_MULTIARCH='"$(MULTIARCH)"'

# The completion. It is not what make without a goal builds.
.DEFAULT_GOAL := all
$(O)/srnicctl.bash: $(addprefix $(SRNICCTL_DIR),srnicctl.bash.in ../settings-list ../../kernel/settings.def)
	@mkdir -p $(@D)
	CC="$(CC)" $(SRNICCTL_DIR)../settings-list bash $< >$@
