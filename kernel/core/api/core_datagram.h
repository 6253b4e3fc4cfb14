/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Datagrams between QPs of type UD, and with QP 1 (Documentation/ib.rst, "Datagrams"). Included by
 * core.h.
 */
#ifndef SRNIC_CORE_DATAGRAM_H
#define SRNIC_CORE_DATAGRAM_H

#define CORE_DATAGRAM_HEADER	24	/* octets before the payload */
#define CORE_DATAGRAM_MAX	4096	/* octets of payload */
#define CORE_QP1		1	/* QPN of the agents of a device */
#define CORE_GROUP_QPN	0xffffff /* QPN of all QPs in a multicast group */
#define CORE_MAD		256	/* octets of payload of what is sent to it */
#define CORE_DATAGRAM_GRH	40	/* octets that a receive gets before the payload */

/**
 * struct core_datagram - what a datagram's header says
 * @to: QPN, 24 bits
 * @from: QPN, 24 bits
 * @qkey: the Q_Key that the sender takes for the receiver's
 * @payload: octets, at most CORE_DATAGRAM_MAX
 * @imm: Immediate Data, in wire order; zero without
 * @with_imm: there are some
 * @solicited: a program that waits for solicited events is to wake up
 */
struct core_datagram {
	u32 to, from;
	u32 qkey;
	u16 payload;
	u8 imm[4];
	u8 with_imm;
	u8 solicited;
};

/**
 * struct core_datagram_sender - the QP whose request becomes a datagram
 * @qpn: its number
 * @qkey: its Q_Key
 * @mtu: octets of payload that its port sends at most; no more than CORE_DATAGRAM_MAX
 */
struct core_datagram_sender {
	u32 qpn;
	u32 qkey;
	u32 mtu;
};

/*
 * What a request with `length` octets of payload becomes; core_send_wqe_check() has found nothing.
 * SRNIC_WC_SUCCESS, or the status with which it fails; then *out is not to be used.
 */
u8 core_datagram_of_request(const struct srnic_send_wqe *wqe, u32 length,
			    const struct core_datagram_sender *sender, struct core_datagram *out);

/* Writes the header. d->payload is at most CORE_DATAGRAM_MAX. */
void core_datagram_build(const struct core_datagram *d, u8 out[CORE_DATAGRAM_HEADER]);
/*
 * Reads the header of a datagram of so many octets in all, of which the first CORE_DATAGRAM_HEADER
 * are at `in`, or all if there are fewer. 0 if it is to be dropped; then *out is unchanged.
 */
int core_datagram_parse(const u8 *in, u32 octets, struct core_datagram *out);

/**
 * struct core_grh - from where and how a datagram came
 * @source: GID; of IPv4 mapped as ::ffff:0:0/96
 * @destination: GID, likewise
 * @octets: of the IP payload: the UDP header and all behind it
 * @flow_label: of IPv6, 20 bits
 * @traffic_class: or IPv4's TOS
 * @hop_limit: or IPv4's TTL
 * @v4: it came by IPv4
 */
struct core_grh {
	u8 source[16], destination[16];
	u32 flow_label;
	u16 octets;
	u8 traffic_class, hop_limit;
	u8 v4;
};

/* Writes what a receive gets before the payload: an IPv6 header, or zeros and an IPv4 header. */
void core_grh_build(const struct core_grh *grh, u8 out[CORE_DATAGRAM_GRH]);

#endif
