# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
# A connection between two QPs of this process, made by rdma_cm over the device's own address, for the tests here. The
# test creates the QPs (rdma_cm calls that external): rdma_cm gets only their numbers.
import itertools

import pyverbs.cm_enums as ce
import pyverbs.enums as e
from pyverbs.cmid import CMID, AddrInfo, CMEvent, CMEventChannel, ConnParam
from pyverbs.cq import CQ
from pyverbs.qp import QP, QPAttr, QPCap, QPInitAttr

PORTS = itertools.count(7500)


class End:
    """An rdma_cm id, its events, and a QP for it."""

    def __init__(self):
        self.channel = CMEventChannel()

    def expect(self, event_type):
        event = CMEvent(self.channel)
        assert event.event_type == event_type, f'{event.event_str()} instead of event {event_type}'
        return event

    def create_qp(self):
        cap = QPCap(max_send_wr=8, max_recv_wr=8)
        self.pd = self.id.pd
        self.cq = CQ(self.id.context, 16, None, None, 0)
        attr = QPInitAttr(qp_type=e.IBV_QPT_RC, scq=self.cq, rcq=self.cq, cap=cap, sq_sig_all=1)
        self.qp = QP(self.pd, attr, QPAttr())

    def param(self):
        return ConnParam(qp_num=self.qp.qp_num)

    def completion(self):
        while True:
            count, completions = self.cq.poll(1)
            if count:
                return completions[0]

    def close(self):
        self.qp.close()
        self.cq.close()
        self.id.close()


def connect(address):
    """Both ends of a connection: (client, server)."""
    port = str(next(PORTS))
    listener, client, server = End(), End(), End()
    listener.id = CMID(creator=listener.channel, port_space=ce.RDMA_PS_TCP)
    listener.id.bind_addr(AddrInfo(src=address, src_service=port, port_space=ce.RDMA_PS_TCP, flags=ce.RAI_PASSIVE))
    listener.id.listen()
    client.id = CMID(creator=client.channel, port_space=ce.RDMA_PS_TCP)
    client.id.resolve_addr(AddrInfo(src=address, dst=address, dst_service=port, port_space=ce.RDMA_PS_TCP))
    client.expect(ce.RDMA_CM_EVENT_ADDR_RESOLVED).ack_cm_event()
    client.id.resolve_route()
    client.expect(ce.RDMA_CM_EVENT_ROUTE_RESOLVED).ack_cm_event()
    client.create_qp()
    client.id.connect(client.param())
    request = listener.expect(ce.RDMA_CM_EVENT_CONNECT_REQUEST)
    server.id = CMID(creator=request, listen_id=listener.id)
    server.create_qp()
    server.id.accept(server.param())
    request.ack_cm_event()
    client.expect(ce.RDMA_CM_EVENT_ESTABLISHED).ack_cm_event()
    listener.expect(ce.RDMA_CM_EVENT_ESTABLISHED).ack_cm_event()
    server.listener = listener  # to which the server's events go
    return client, server
