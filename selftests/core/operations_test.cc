// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// The table of operations: the message of each (RFC 5040 3), and what completes it (RFC 5040 5.5).
// ring_test.cc tests what each may carry.
#include <rdma/srnic-abi.h>

#include "operations.hh"

using namespace srnic;

static u8 plain(u8 opcode) { return wire_opcode(operation(opcode), SRNIC_WQE_SIGNALED); }
static u8 solicited(u8 opcode) { return wire_opcode(operation(opcode), SRNIC_WQE_SOLICITED); }

// RFC 5040 3.1 to 3.5: Send, Send with Invalidate, both with Solicited Event, RDMA Write and Read.
TEST(Operations, TheMessageOfEach)
{
	EXPECT_EQ(plain(SRNIC_OP_SEND), CORE_MSG_SEND);
	EXPECT_EQ(solicited(SRNIC_OP_SEND), CORE_MSG_SEND_SE);
	EXPECT_EQ(plain(SRNIC_OP_SEND_INV), CORE_MSG_SEND_INV);
	EXPECT_EQ(solicited(SRNIC_OP_SEND_INV), CORE_MSG_SEND_SE_INV);
	EXPECT_EQ(plain(SRNIC_OP_IMM), CORE_MSG_IMMEDIATE); // RFC 7306 6
	EXPECT_EQ(solicited(SRNIC_OP_IMM), CORE_MSG_IMMEDIATE_SE);
	for (u8 (*wire)(u8) : {plain, solicited}) {
		EXPECT_EQ(wire(SRNIC_OP_WRITE), CORE_MSG_WRITE);
		EXPECT_EQ(wire(SRNIC_OP_WRITE_IMM), CORE_MSG_WRITE);
		EXPECT_EQ(wire(SRNIC_OP_READ), CORE_MSG_READ_REQUEST);
		EXPECT_EQ(wire(SRNIC_OP_READ_INV), CORE_MSG_READ_REQUEST);
	}
}

// RFC 5040 5.5 rule 14: Sends and Writes complete when they are sent, reads with their response.
TEST(Operations, OnlyReadsCompleteByAResponse)
{
	for (u32 opcode = 0; opcode < 256; opcode++)
		EXPECT_EQ(operation(static_cast<u8>(opcode)).by_response != 0,
			  opcode == SRNIC_OP_READ || opcode == SRNIC_OP_READ_INV ||
				  (opcode >= SRNIC_OP_FETCH_ADD &&
				   opcode <= SRNIC_OP_MASKED_CMP_SWAP));
}

// Invalidation, registration and windows send nothing; programs have windows, but do not register.
TEST(Operations, LocalOnes)
{
	for (u8 opcode : {u8{SRNIC_OP_LOCAL_INV}, u8{SRNIC_OP_REG_MR}, u8{SRNIC_OP_BIND_MW}}) {
		EXPECT_TRUE(is_local(operation(opcode)));
		EXPECT_EQ(operation(opcode).kernel_only != 0, opcode == SRNIC_OP_REG_MR);
	}
	EXPECT_FALSE(is_local(operation(SRNIC_OP_SEND)));
}

TEST(Operations, NoOtherOpcodeIsKnown)
{
	for (u32 opcode = 0; opcode < 256; opcode++)
		EXPECT_EQ(operation(static_cast<u8>(opcode)).known != 0,
			  opcode >= SRNIC_OP_WRITE && opcode <= SRNIC_OP_BIND_MW &&
				  opcode != SRNIC_OP_RECV);
}
