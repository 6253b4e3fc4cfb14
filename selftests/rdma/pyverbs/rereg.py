# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
# ibv_rereg_mr() in all its forms, checked by Reads of the peer: a Read that is refused (RFC 5040 7.1) does not succeed,
# and the region's side gets an event with the reason.
import ctypes

import pyverbs.enums as e
from pyverbs.mr import MR
from pyverbs.mem_alloc import free, posix_memalign
from pyverbs.pd import PD
from pyverbs.wr import SGE, SendWR
from tests.base import RDMATestCase

import connected

SIZE = 4096
GRANT = e.IBV_ACCESS_LOCAL_WRITE | e.IBV_ACCESS_REMOTE_READ
DENY = e.IBV_ACCESS_LOCAL_WRITE
ACCESS, PD_, TRANSLATION = (e.IBV_REREG_MR_CHANGE_ACCESS, e.IBV_REREG_MR_CHANGE_PD,
                            e.IBV_REREG_MR_CHANGE_TRANSLATION)


class Rereg(RDMATestCase):
    def setUp(self):
        super().setUp()
        self.memory = posix_memalign(2 * SIZE)
        self.addCleanup(free, self.memory)
        self.peer, self.end = connected.connect(self.ip_addr)
        self.addCleanup(self.peer.close)
        self.addCleanup(self.end.close)
        self.pd = self.end.pd
        self.other_pd = self.closing(PD(self.end.id.context))
        self.sink = self.closing(MR(self.peer.pd, SIZE, e.IBV_ACCESS_LOCAL_WRITE))

    def closing(self, thing):
        self.addCleanup(thing.close)
        return thing

    def region(self, access, pd=None):
        self.mr = self.closing(MR(pd or self.pd, SIZE, access))
        self.mr.write('a' * SIZE, SIZE)

    def read(self, addr=None, length=SIZE):
        """The status of a Read by the peer. After a refusal the connection is over."""
        wr = SendWR(opcode=e.IBV_WR_RDMA_READ, num_sge=1, sg=[SGE(self.sink.buf, length, self.sink.lkey)])
        wr.set_wr_rdma(self.mr.rkey, addr or self.mr.buf)
        self.peer.qp.post_send(wr)
        return self.peer.completion().status

    def granted(self, **kwargs):
        self.assertEqual(self.read(**kwargs), e.IBV_WC_SUCCESS)

    def refused(self, **kwargs):
        self.assertNotEqual(self.read(**kwargs), e.IBV_WC_SUCCESS)
        event = self.end.id.context.get_async_event()
        event.ack()
        self.assertEqual(event.event_type, e.IBV_EVENT_QP_ACCESS_ERR)

    def test_access_is_given(self):
        self.region(0)
        self.mr.rereg(ACCESS, access=GRANT)
        self.granted()

    def test_access_is_taken(self):
        self.region(GRANT)
        self.granted()
        self.mr.rereg(ACCESS, access=DENY)
        self.refused()

    def test_pd_of_the_peer(self):
        self.region(GRANT, self.other_pd)
        self.mr.rereg(PD_, pd=self.pd)
        self.granted()

    def test_pd_of_somebody_else(self):
        self.region(GRANT)
        self.granted()
        self.mr.rereg(PD_, pd=self.other_pd)
        self.refused()

    def reads(self, letter, **kwargs):
        self.granted(**kwargs)
        self.assertEqual(self.sink.read(SIZE, 0), letter * SIZE)

    def new_memory(self):
        ctypes.memset(self.memory, ord('b'), SIZE)
        ctypes.memset(self.memory + SIZE, ord('c'), SIZE)

    def test_translation_leads_to_the_new_memory(self):
        self.region(GRANT)
        self.reads(b'a')
        self.new_memory()
        self.mr.rereg(TRANSLATION, addr=self.memory, length=2 * SIZE)
        self.reads(b'b', addr=self.memory)
        self.reads(b'c', addr=self.memory + SIZE)

    def test_translation_leaves_the_old_memory(self):
        self.region(GRANT)
        old = self.mr.buf
        self.mr.rereg(TRANSLATION, addr=self.memory, length=SIZE)
        self.refused(addr=old)

    def test_translation_keeps_to_the_new_length(self):
        self.region(GRANT)
        self.mr.rereg(TRANSLATION, addr=self.memory, length=SIZE)
        self.refused(addr=self.memory + 1)

    def test_translation_keeps_a_region_zero_based(self):
        self.region(GRANT | e.IBV_ACCESS_ZERO_BASED)
        self.granted(addr=1, length=SIZE - 1)
        self.mr.rereg(TRANSLATION, addr=self.memory, length=SIZE)
        self.granted(addr=1, length=SIZE - 1)

    def test_all_at_once(self):
        self.region(0, self.other_pd)
        self.new_memory()
        self.mr.rereg(ACCESS | PD_ | TRANSLATION, pd=self.pd, addr=self.memory, length=2 * SIZE, access=GRANT)
        self.reads(b'c', addr=self.memory + SIZE)
