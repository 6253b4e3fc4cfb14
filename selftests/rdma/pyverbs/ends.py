# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
# Connects a device with itself, has the client end that, and prints what srnicctl says of the client's end and of the
# server's.
#
#	ends.py DEVICE ITS-ADDRESS disconnect | terminate
import json
import subprocess
import sys
import time

import pyverbs.enums as e
from pyverbs.mr import MR
from pyverbs.wr import SGE, SendWR

import connected


def disconnect(client):
    client.id.disconnect()


# Writes to memory that the server does not have.
def terminate(client):
    client.mr = MR(client.pd, 64, e.IBV_ACCESS_LOCAL_WRITE)
    wr = SendWR(opcode=e.IBV_WR_RDMA_WRITE, num_sge=1, sg=[SGE(client.mr.buf, 64, client.mr.lkey)])
    wr.set_wr_rdma(client.mr.rkey ^ 0x1000, client.mr.buf)
    client.qp.post_send(wr)


def shown(device, end):
    said = subprocess.run(['srnicctl', '-j', 'show', device], stdout=subprocess.PIPE, check=True).stdout
    for connection in json.loads(said)['devices'][0]['connections']:
        if connection['lqpn'] == end.qp.qp_num:
            return connection.get('end')
    sys.exit('a QP is not shown')


def reported(device, end):
    for _ in range(300):
        found = shown(device, end)
        if found:
            return f"{found['reason']}: {found['text']}"
        time.sleep(0.1)
    sys.exit('a connection does not end')


device, address, way = sys.argv[1:]
client, server = connected.connect(address)
client.mr = None
{'disconnect': disconnect, 'terminate': terminate}[way](client)
print(reported(device, client), reported(device, server), sep='; ')
if client.mr:
    client.mr.close()
client.close()
server.close()
server.listener.id.close()
