#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
"""SMC from the outside: its user EIDs and sockets by netlink, and a program of plain sockets that checks its bytes.

smc.py ueid NAME             what both hosts must have in common for version 2
smc.py until-ready DEVICE... waits until SMC has found that the ports of these are active
smc.py sockets               one line for each connection
smc.py serve ADDRESS PORT N  answers N connections with what they send
smc.py talk ADDRESS PORT N   opens N connections at a time, and checks what comes back
smc.py until-idle            waits until no link group is left

The sockets of serve and talk are TCP's, which build/preload.so makes SMC's.
"""

import random
import socket
import struct
import sys
import threading
import time

AF_SMC = 43
NETLINK_SOCK_DIAG, NETLINK_GENERIC = 4, 16
SOCK_DIAG_BY_FAMILY = 20
GENL_CONTROL = 16
CTRL_CMD_GETFAMILY = 3
CTRL_ATTR_FAMILY_ID, CTRL_ATTR_FAMILY_NAME = 1, 2
SMC_NETLINK_GET_LGR_SMCR, SMC_NETLINK_GET_DEV_SMCR, SMC_NETLINK_ADD_UEID = 2, 6, 10
SMC_GEN_DEV_SMCR, SMC_NLA_DEV_PORT, SMC_NLA_DEV_IB_NAME, SMC_NLA_DEV_PORT_STATE = 6, 8, 10, 4
SMC_NLA_EID_TABLE_ENTRY = 1
EID_LENGTH = 32
SMC_DIAG_LGRINFO, SMC_DIAG_FALLBACK = 2, 5
MODES = {0: "SMC-R", 1: "TCP", 2: "SMC-D"}
NLM_F_REQUEST, NLM_F_ACK, NLM_F_DUMP = 1, 4, 0x300
NLMSG_ERROR, NLMSG_DONE = 2, 3

SIZES = [1, 1000, 65536, 3000001]


def attribute(kind, data):
    padding = -len(data) % 4
    return struct.pack("=HH", 4 + len(data), kind) + data + bytes(padding)


def attributes(data):
    found = {}
    while len(data) >= 4:
        length, kind = struct.unpack_from("=HH", data)
        found[kind & 0x3FFF] = data[4:length]
        data = data[(length + 3) & ~3:]
    return found


def netlink(protocol, kind, flags, payload):
    """The payloads of the answers."""
    answers = []
    with socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, protocol) as sock:
        sock.send(struct.pack("=IHHII", 16 + len(payload), kind, NLM_F_REQUEST | flags, 1, 0) + payload)
        while True:
            data = sock.recv(1 << 16)
            while data:
                length, answer = struct.unpack_from("=IH", data)
                body = data[16:length]
                if answer == NLMSG_DONE:
                    return answers
                if answer == NLMSG_ERROR:
                    error, = struct.unpack_from("=i", body)
                    if error:
                        raise OSError(-error, "netlink")
                    return answers
                answers.append(body)
                data = data[(length + 3) & ~3:]


def generic(command, flags, attrs=b"", family=GENL_CONTROL):
    return netlink(NETLINK_GENERIC, family, flags, struct.pack("=BBH", command, 1, 0) + attrs)


def smc_family():
    name = attribute(CTRL_ATTR_FAMILY_NAME, b"SMC_GEN_NETLINK\0")
    answer, *_ = generic(CTRL_CMD_GETFAMILY, NLM_F_ACK, name)
    return struct.unpack("=H", attributes(answer[4:])[CTRL_ATTR_FAMILY_ID])[0]


def add_ueid(name):
    entry = attribute(SMC_NLA_EID_TABLE_ENTRY, name.encode().ljust(EID_LENGTH) + b"\0")
    generic(SMC_NETLINK_ADD_UEID, NLM_F_ACK, entry, smc_family())


def link_groups():
    return generic(SMC_NETLINK_GET_LGR_SMCR, NLM_F_DUMP, family=smc_family())


def active_devices():
    for message in generic(SMC_NETLINK_GET_DEV_SMCR, NLM_F_DUMP, family=smc_family()):
        device = attributes(attributes(message[4:])[SMC_GEN_DEV_SMCR])
        port = attributes(device.get(SMC_NLA_DEV_PORT, b""))
        if port.get(SMC_NLA_DEV_PORT_STATE) == b"\1":
            yield device[SMC_NLA_DEV_IB_NAME].rstrip(b"\0").decode()


def until_ready(*names):
    while not set(names) <= set(active_devices()):
        time.sleep(0.1)


def sockets():
    """(local port, peer's port, mode, what it runs on or why not) of each connection."""
    wanted = 1 << SMC_DIAG_LGRINFO - 1 | 1 << SMC_DIAG_FALLBACK - 1
    for message in netlink(NETLINK_SOCK_DIAG, SOCK_DIAG_BY_FAMILY, NLM_F_DUMP,
                           struct.pack("=BxxB48x", AF_SMC, wanted)):
        mode = message[2]
        port, peer_port = struct.unpack_from("!HH", message, 4)
        more = attributes(message[64:])
        note = ""
        if SMC_DIAG_LGRINFO in more:
            note = more[SMC_DIAG_LGRINFO][1:65].split(b"\0")[0].decode()
        if SMC_DIAG_FALLBACK in more:
            note += "reason {:#x}, peer's {:#x}".format(*struct.unpack_from("=II", more[SMC_DIAG_FALLBACK]))
        if peer_port:
            yield port, peer_port, MODES[mode], note


def answer(connection):
    with connection:
        while data := connection.recv(1 << 16):
            connection.sendall(data)


def serve(address, port, count):
    with socket.create_server((address, port)) as server:
        threads = [threading.Thread(target=answer, args=(server.accept()[0],)) for _ in range(count)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()


def receive(connection, size):
    data = bytearray()
    while len(data) < size:
        piece = connection.recv(size - len(data))
        if not piece:
            raise EOFError
        data += piece
    return data


def exchange(connection, size):
    """Sends from another thread: what comes back must be read meanwhile."""
    sent = random.randbytes(size)
    sender = threading.Thread(target=connection.sendall, args=(sent,))
    sender.start()
    assert receive(connection, size) == sent, f"wrong bytes, of {size}"
    sender.join()


def talk(address, port, count):
    connections = [socket.create_connection((address, port)) for _ in range(count)]
    for size in SIZES:
        for connection in connections:
            exchange(connection, size)
    ports = {connection.getsockname()[1] for connection in connections}
    ours = [line for line in sockets() if line[0] in ports]
    assert len(ours) == count and all(line[2] == "SMC-R" for line in ours), f"not all are SMC-R: {ours}"
    print(*ours, sep="\n")
    for connection in connections:
        connection.shutdown(socket.SHUT_WR)
        assert connection.recv(1) == b""
        connection.close()


def until_idle():
    while link_groups():
        time.sleep(0.1)


def main(command, *arguments):
    if command == "ueid":
        add_ueid(*arguments)
    elif command == "sockets":
        print(*sockets(), sep="\n")
    elif command == "until-idle":
        until_idle()
    elif command == "until-ready":
        until_ready(*arguments)
    else:
        {"serve": serve, "talk": talk}[command](arguments[0], int(arguments[1]), int(arguments[2]))


main(*sys.argv[1:])
