// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * The port's counters as InfiniBand's performance management has them (IBA volume 1, 16.1). The
 * RDMA core gets them by MADs and shows them in ports/1/counters, which tools that watch RDMA
 * devices read. On type srnic_ib requests come to QP 1 as well, from privileged users of any host.
 * They are all checked as a stranger's.
 */
#include <linux/string.h>
#include <rdma/ib_mad.h>
#include <rdma/ib_pma.h>

#include "device/counter.h"
#include "device/mad.h"

#define VERSION		1		/* of MADs, and of the class */
#define ALL_PORTS	0xff
#define UNIT		4		/* data are counted in words of 4 bytes */

static bool selects_port(u8 port_select)
{
	return port_select == 1 || port_select == ALL_PORTS;
}

static u16 class_port_info(struct ib_class_port_info *info)
{
	info->base_version = VERSION;
	info->class_version = VERSION;
	info->capability_mask = IB_PMA_CLASS_CAP_ALLPORTSELECT | IB_PMA_CLASS_CAP_EXT_WIDTH;
	return IB_MGMT_MAD_STATUS_SUCCESS;
}

static __be32 narrow(u64 count)
{
	return cpu_to_be32(min_t(u64, count, U32_MAX));
}

/* FPDUs and datagrams are what it has for packets. */
static u64 sent_packets(struct srnic_dev *dev)
{
	return srnic_counted_in_all(dev, SRNIC_TX_FPDUS) +
	       srnic_counted_in_all(dev, SRNIC_TX_DATAGRAMS);
}

static u64 received_packets(struct srnic_dev *dev)
{
	return srnic_counted_in_all(dev, SRNIC_RX_FPDUS) +
	       srnic_counted_in_all(dev, SRNIC_RX_DATAGRAMS);
}

static u64 sent_words(struct srnic_dev *dev)
{
	return (srnic_counted_in_all(dev, SRNIC_TX_OCTETS) +
		srnic_counted_in_all(dev, SRNIC_TX_DATAGRAM_OCTETS)) / UNIT;
}

static u64 received_words(struct srnic_dev *dev)
{
	return (srnic_counted_in_all(dev, SRNIC_RX_OCTETS) +
		srnic_counted_in_all(dev, SRNIC_RX_DATAGRAM_OCTETS)) / UNIT;
}

/* What a software device has no count of is 0. Full counters keep their largest value. */
static u16 port_counters(struct srnic_dev *dev, const struct ib_pma_portcounters *request,
			 struct ib_pma_portcounters *reply)
{
	if (!selects_port(request->port_select))
		return IB_MGMT_MAD_STATUS_INVALID_ATTRIB_VALUE;
	reply->port_select = request->port_select;
	reply->counter_select = request->counter_select;
	reply->port_rcv_errors =
		cpu_to_be16(min_t(u64, srnic_counted_in_all(dev, SRNIC_RX_ERRORS), U16_MAX));
	reply->port_xmit_data = narrow(sent_words(dev));
	reply->port_rcv_data = narrow(received_words(dev));
	reply->port_xmit_packets = narrow(sent_packets(dev));
	reply->port_rcv_packets = narrow(received_packets(dev));
	return IB_MGMT_MAD_STATUS_SUCCESS;
}

static u16 port_counters_ext(struct srnic_dev *dev, const struct ib_pma_portcounters_ext *request,
			     struct ib_pma_portcounters_ext *reply)
{
	__be64 sent = cpu_to_be64(sent_packets(dev));
	__be64 received = cpu_to_be64(received_packets(dev));

	if (!selects_port(request->port_select))
		return IB_MGMT_MAD_STATUS_INVALID_ATTRIB_VALUE;
	reply->port_select = request->port_select;
	reply->counter_select = request->counter_select;
	reply->port_xmit_data = cpu_to_be64(sent_words(dev));
	reply->port_rcv_data = cpu_to_be64(received_words(dev));
	reply->port_xmit_packets = sent;
	reply->port_rcv_packets = received;
	reply->port_unicast_xmit_packets = sent;
	reply->port_unicast_rcv_packets = received;
	return IB_MGMT_MAD_STATUS_SUCCESS;
}

/* Fills in what was asked for, and returns the status. Counters cannot be set. */
static u16 answer(struct srnic_dev *dev, const struct ib_pma_mad *request,
		  struct ib_pma_mad *reply)
{
	const struct ib_mad_hdr *header = &request->mad_hdr;

	if (header->base_version != VERSION || header->class_version != VERSION)
		return IB_MGMT_MAD_STATUS_BAD_VERSION;
	if (header->method != IB_MGMT_METHOD_GET)
		return IB_MGMT_MAD_STATUS_UNSUPPORTED_METHOD;
	switch (header->attr_id) {
	case IB_PMA_CLASS_PORT_INFO:
		return class_port_info((void *)reply->data);
	case IB_PMA_PORT_COUNTERS:
		return port_counters(dev, (const void *)request->data, (void *)reply->data);
	case IB_PMA_PORT_COUNTERS_EXT:
		return port_counters_ext(dev, (const void *)request->data, (void *)reply->data);
	default:
		return IB_MGMT_MAD_STATUS_UNSUPPORTED_METHOD_ATTRIB;
	}
}

/* No answer to other classes, and none to an answer. */
int srnic_process_mad(struct ib_device *base, int flags, u32 port, const struct ib_wc *wc,
		      const struct ib_grh *grh, const struct ib_mad *in, struct ib_mad *out,
		      size_t *out_size, u16 *out_pkey_index)
{
	if (in->mad_hdr.mgmt_class != IB_MGMT_CLASS_PERF_MGMT ||
	    in->mad_hdr.method & IB_MGMT_METHOD_RESP)
		return IB_MAD_RESULT_SUCCESS;
	memset(out, 0, sizeof(*out));
	out->mad_hdr = in->mad_hdr;
	out->mad_hdr.method = IB_MGMT_METHOD_GET_RESP;
	out->mad_hdr.status =
		cpu_to_be16(answer(to_srnic_dev(base), (const void *)in, (void *)out));
	return IB_MAD_RESULT_SUCCESS | IB_MAD_RESULT_REPLY;
}
