-- SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
-- Wireshark's dissector of RDMA/TCP: draft-williams-rdmatcp-00, with the control data of
-- Documentation/rdmatcp.rst. It knows a connection by its first messages; for one captured later
-- use "Decode As". Wireshark runs no scripts as root.
--	tshark -X lua_script:rdmatcp.lua -r FILE -Y rdmatcp

local rdmatcp = Proto("rdmatcp", "RDMA/TCP")

local SEND, WRITE, READ_REQUEST, READ_RESPONSE = 0, 1, 2, 3
local types = {
	[SEND] = "Send", [WRITE] = "RDMA_Write", [READ_REQUEST] = "RDMA_Read_Request",
	[READ_RESPONSE] = "RDMA_Read_Response",
}
local kinds = { "connect", "accept", "reject" }

-- Control data: flags, and the words that each announces.
local UPPER, INVALIDATE, IMMEDIATE, STARTUP, SOLICITED = 0x01, 0x02, 0x04, 0x08, 0x10

local f = {
	version = ProtoField.uint8("rdmatcp.version", "Version"),
	reserved = ProtoField.uint8("rdmatcp.res", "Reserved", base.HEX, nil, 0xf0),
	begins = ProtoField.bool("rdmatcp.begin", "Begin", 8, nil, 0x08),
	ends = ProtoField.bool("rdmatcp.end", "End", 8, nil, 0x04),
	type = ProtoField.uint8("rdmatcp.type", "Type", base.DEC, types, 0x03),
	length = ProtoField.uint16("rdmatcp.length", "Segment Length"),
	connection = ProtoField.uint64("rdmatcp.connection_id", "Connection ID", base.HEX),
	number = ProtoField.uint32("rdmatcp.number", "Message Number"),
	order = ProtoField.uint16("rdmatcp.order", "Order"),
	clen = ProtoField.uint8("rdmatcp.clen", "CLEN"),
	data_offset = ProtoField.uint32("rdmatcp.data_offset", "Data Offset"),
	buffer_id = ProtoField.uint32("rdmatcp.buffer_id", "RDMA Buffer ID", base.HEX),
	buffer_offset = ProtoField.uint32("rdmatcp.buffer_offset", "RDMA Buffer Offset", base.HEX),
	rdma_length = ProtoField.uint32("rdmatcp.rdma_length", "RDMA Length"),
	control = ProtoField.bytes("rdmatcp.control", "Control data"),
	binding = ProtoField.uint8("rdmatcp.control.binding", "Binding"),
	flags = ProtoField.uint16("rdmatcp.control.flags", "Flags", base.HEX),
	upper = ProtoField.uint32("rdmatcp.control.upper", "Upper half of the buffer offset", base.HEX),
	invalidate = ProtoField.uint32("rdmatcp.control.invalidate", "Invalidate", base.HEX),
	immediate = ProtoField.bytes("rdmatcp.control.immediate", "Immediate Data"),
	solicited = ProtoField.bool("rdmatcp.control.solicited", "Solicited", 16, nil, SOLICITED),
	kind = ProtoField.uint8("rdmatcp.startup.kind", "Kind", base.DEC, kinds),
	wants_crc = ProtoField.bool("rdmatcp.startup.crc", "Wants CRCs", 8, nil, 0x01),
	wants_long = ProtoField.bool("rdmatcp.startup.long", "Prefers long segments", 8, nil, 0x02),
	ird = ProtoField.uint16("rdmatcp.startup.ird", "IRD"),
	ord = ProtoField.uint16("rdmatcp.startup.ord", "ORD"),
	payload = ProtoField.bytes("rdmatcp.payload", "Payload"),
	padding = ProtoField.bytes("rdmatcp.padding", "Padding"),
	crc = ProtoField.uint32("rdmatcp.crc", "CRC-32", base.HEX),
	status = ProtoField.string("rdmatcp.crc.status", "CRC-32 status"),
}
for _, field in pairs(f) do
	table.insert(rdmatcp.fields, field)
end

local bad_crc = ProtoExpert.new("rdmatcp.crc.bad", "The CRC is wrong", expert.group.CHECKSUM,
				expert.severity.ERROR)
rdmatcp.experts = { bad_crc }
rdmatcp.prefs.crc = Pref.bool("Check CRCs", true, "Compute the CRC-32 of each segment")

-- ---- CRC-32 (3.4): Ethernet's, with the generator 0xdb710641, here reflected ----

local crc_of = {}
for octet = 0, 255 do
	local rest = octet
	for _ = 1, 8 do
		local odd = bit.band(rest, 1) == 1
		rest = bit.rshift(rest, 1)
		if odd then
			rest = bit.bxor(rest, 0x82608edb)
		end
	end
	crc_of[octet] = rest
end

-- As the field has it, read with its lowest octet first.
local function crc32(range)
	local octets, rest = range:bytes(), bit.bnot(0)
	for i = 0, octets:len() - 1 do
		local at = bit.band(bit.bxor(rest, octets:get_index(i)), 0xff)
		rest = bit.bxor(bit.rshift(rest, 8), crc_of[at])
	end
	return bit.bnot(rest)
end

local function crc_status(tvb, length)
	local field = tvb(length - 4, 4)
	if field:uint() == 0 then
		return "absent"
	end
	return bit.tobit(field:le_uint()) == crc32(tvb(0, length - 4)) and "good" or "bad"
end

-- ---- control data ----

local function startup(range, tree)
	tree:add(f.kind, range(0, 1))
	tree:add(f.wants_crc, range(1, 1))
	tree:add(f.wants_long, range(1, 1))
	tree:add(f.ird, range(4, 2))
	tree:add(f.ord, range(6, 2))
	return " " .. (kinds[range(0, 1):uint()] or "?")
end

-- Returns what they say, for the summary.
local function control(range, tree)
	local inner, flags, at, says = tree:add(f.control, range), range(2, 2):uint(), 4, ""
	local function words(flag, count)
		if bit.band(flags, flag) == 0 or at + 4 * count > range:len() then
			return nil
		end
		at = at + 4 * count
		return range(at - 4 * count, 4 * count)
	end

	inner:add(f.binding, range(0, 1))
	inner:add(f.flags, range(2, 2))
	inner:add(f.solicited, range(2, 2))
	local word = words(UPPER, 1)
	if word then
		inner:add(f.upper, word)
	end
	word = words(INVALIDATE, 1)
	if word then
		inner:add(f.invalidate, word)
		says = says .. " with Invalidate"
	end
	word = words(IMMEDIATE, 2)
	if word then
		inner:add(f.immediate, word)
		says = says .. " with Immediate Data"
	end
	word = words(STARTUP, 2)
	if word then
		says = says .. startup(word, inner)
	end
	if bit.band(flags, SOLICITED) ~= 0 then
		says = says .. " with Solicited Event"
	end
	return says
end

-- ---- segments ----

local function wire_length(length)
	return bit.band(length + 3, bit.bnot(3)) + 4
end

local function add_header(tvb, tree)
	tree:add(f.version, tvb(0, 1))
	for _, field in ipairs { f.reserved, f.begins, f.ends, f.type } do
		tree:add(field, tvb(1, 1))
	end
	tree:add(f.length, tvb(2, 2))
	tree:add(f.connection, tvb(4, 8))
	tree:add(f.number, tvb(12, 4))
	tree:add(f.order, tvb(16, 2))
	tree:add(f.clen, tvb(19, 1))
end

-- The fields that depend on the type. Returns the length of the header.
local function add_place(tvb, tree, kind)
	if kind == SEND or kind == READ_RESPONSE then
		tree:add(f.data_offset, tvb(20, 4))
		return 24
	end
	tree:add(f.buffer_id, tvb(20, 4))
	tree:add(f.buffer_offset, tvb(24, 4))
	tree:add(f.rdma_length, tvb(28, 4))
	return 32
end

local function add_rest(tvb, tree, head, length)
	local whole = wire_length(length)
	if length > head then
		tree:add(f.payload, tvb(head, length - head))
	end
	if whole - 4 > length then
		tree:add(f.padding, tvb(length, whole - 4 - length))
	end
	local field = tree:add(f.crc, tvb(whole - 4, 4))
	if rdmatcp.prefs.crc then
		local status = crc_status(tvb, whole)
		tree:add(f.status, tvb(whole - 4, 4), status):set_generated()
		if status == "bad" then
			field:add_proto_expert_info(bad_crc)
		end
	end
end

local function dissect_segment(tvb, pinfo, root)
	local kind, length = bit.band(tvb(1, 1):uint(), 3), tvb(2, 2):uint()
	local tree = root:add(rdmatcp, tvb(0, wire_length(length)))
	local says = types[kind]

	add_header(tvb, tree)
	local head = add_place(tvb, tree, kind)
	local clen = 4 * tvb(19, 1):uint()
	if clen > 0 then
		says = says .. control(tvb(head, clen), tree)
	end
	add_rest(tvb, tree, head + clen, length)
	tree:append_text(", " .. says .. ", number " .. tvb(12, 4):uint())
	pinfo.cols.protocol = "RDMA/TCP"
	pinfo.cols.info:append(" " .. says .. ";")
	pinfo.cols.info:fence()
	return tvb:len()
end

local function length_at(tvb, _, offset)
	return wire_length(tvb(offset + 2, 2):uint())
end

function rdmatcp.dissector(tvb, pinfo, tree)
	dissect_tcp_pdus(tvb, tree, 24, length_at, dissect_segment)
	return tvb:len()
end

-- A first message: version 1, a Send of one segment, whose control data have startup alone.
local function is_first_message(tvb)
	return tvb:len() >= 40 and tvb(0, 1):uint() == 1 and bit.band(tvb(1, 1):uint(), 0x0f) == 0x0c and
		tvb(20, 4):uint() == 0 and tvb(24, 1):uint() == 1 and tvb(27, 1):uint() == STARTUP
end

rdmatcp:register_heuristic("tcp", function(tvb, pinfo, tree)
	if not is_first_message(tvb) then
		return false
	end
	pinfo.conversation = rdmatcp
	rdmatcp.dissector(tvb, pinfo, tree)
	return true
end)
DissectorTable.get("tcp.port"):add_for_decode_as(rdmatcp)
