// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// What the RDMA subsystem says of its devices, over netlink.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

// The raw answer of RDMA_NLDEV_CMD_RES_GET for all devices: how many objects of each kind exist.
std::vector<uint8_t> all_objects();
// rdma link add NAME type srnic netdev NETDEV, rdma link delete NAME: 0 or an errno.
int link_add(const std::string &name, const std::string &netdev);
int link_delete(const std::string &name);
