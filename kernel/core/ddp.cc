// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// DDP placement checks (RFC 5041 7.1) for the shell.
#include "ddp.hh"

enum srnic_region_verdict srnic_region_check(const struct srnic_region *region, u32 pd, u32 access, u64 to, u64 len)
{
	return srnic::check_region(*region, pd, access, to, len);
}
