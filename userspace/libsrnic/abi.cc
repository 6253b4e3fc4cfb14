// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// Versions of the ABI between module and provider (<rdma/srnic-abi.h>): which this provider speaks,
// and what a user is to do about a module that speaks none of them.
#include "queue.h"

bool srnic_speaks(uint32_t abi_version)
{
	return abi_version >= SRNIC_ABI_MIN && abi_version <= SRNIC_ABI_MAX;
}

const char *srnic_abi_advice(uint32_t module)
{
	if (module < SRNIC_ABI_MIN)
		return "the kernel module is too old for this provider: upgrade the module "
		       "(srnic-dkms), and load it again";
	return "this provider is too old for the kernel module: upgrade the provider (libsrnic1)";
}
