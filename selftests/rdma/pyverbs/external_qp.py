# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
# QPs not created by rdma_cm: it connects them by their numbers, and an RNIC's are then in RTS without help of the
# consumer (test_rdmacm's case waits for an event that only InfiniBand has).
import pyverbs.enums as e
from pyverbs.mr import MR
from pyverbs.wr import SGE, RecvWR, SendWR
from tests.base import RDMATestCase

import connected


class ExternalQp(RDMATestCase):
    def test_traffic(self):
        client, server = connected.connect(self.ip_addr)
        for end in client, server:
            self.addCleanup(end.close)
            attr, _ = end.qp.query(e.IBV_QP_STATE)
            self.assertEqual(attr.qp_state, e.IBV_QPS_RTS)
            end.mr = MR(end.pd, 64, e.IBV_ACCESS_LOCAL_WRITE)
            self.addCleanup(end.mr.close)
            end.sge = SGE(end.mr.buf, 64, end.mr.lkey)
        client.mr.write('c' * 64, 64)
        server.qp.post_recv(RecvWR(sg=[server.sge], num_sge=1))
        client.qp.post_send(SendWR(opcode=e.IBV_WR_SEND, num_sge=1, sg=[client.sge]))
        self.assertEqual(client.completion().status, e.IBV_WC_SUCCESS)
        self.assertEqual(server.completion().status, e.IBV_WC_SUCCESS)
        self.assertEqual(server.mr.read(64, 0), b'c' * 64)
