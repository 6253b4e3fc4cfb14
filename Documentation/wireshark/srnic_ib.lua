-- SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
-- Wireshark's dissector of streams with acknowledgements (Documentation/ib.rst): the startup
-- frames, and MPA, DDP and RDMAP with Acks and Sends with Immediate Data. On port 4791 it knows
-- them by their first octets, and leaves plain MPA to Wireshark's own dissectors. On another port
-- it knows them by a startup frame with the magic, unless MPA's dissector has taken that: Wireshark
-- tries first what knew a packet last. Then, or if the beginning was not captured, use "Decode As".
-- Wireshark runs no scripts as root.
--	tshark -X lua_script:srnic_ib.lua -r FILE -Y srnic_ib
--	tshark -X lua_script:srnic_ib.lua -d tcp.port==PORT,srnic_ib -r FILE -Y srnic_ib

local srnic_ib = Proto("srnic_ib", "srnic_ib: MPA, DDP and RDMAP with Acks")

local PORT = 4791 -- rule 40

-- ---- words ----

local WRITE, READ_REQUEST, READ_RESPONSE, TERMINATE, ATOMIC_REQUEST, ATOMIC_RESPONSE, ACK =
	0, 1, 2, 7, 10, 11, 12
local EXTENDED = 15

-- By opcode: RFC 5040 figure 4, RFC 7306 figure 2, rule 4. queue: none of tagged messages. word:
-- what RDMAP has in the DDP header. counted: a request, or the end of one (rules 6 and 9).
local messages = {
	[0] = { name = "Write", counted = true },
	{ name = "Read Request", queue = 1, counted = true },
	{ name = "Read Response" },
	{ name = "Send", queue = 0, counted = true },
	{ name = "Send with Invalidate", queue = 0, counted = true, word = "stag" },
	{ name = "Send with Solicited Event", queue = 0, counted = true },
	{ name = "Send with Solicited Event and Invalidate", queue = 0, counted = true,
	  word = "stag" },
	{ name = "Terminate", queue = 2 },
	{ name = "Immediate Data", queue = 0, counted = true },
	{ name = "Immediate Data with Solicited Event", queue = 0, counted = true },
	{ name = "Atomic Request", queue = 1, counted = true },
	{ name = "Atomic Response", queue = 3 },
	{ name = "Ack", queue = 4 },
	{ name = "Send with Immediate Data", queue = 0, counted = true, word = "immediate" },
	{ name = "Send with Immediate Data and Solicited Event", queue = 0, counted = true,
	  word = "immediate" },
	{ name = "Extended Request", queue = 5, counted = true },
}
local opcodes = {}
for opcode, message in pairs(messages) do
	opcodes[opcode] = message.name
end

-- Rule 17.
local READY, NOT_READY = 0, 1
local syndromes = {
	[READY] = "none refused", "receiver not ready", "invalid request", "remote access error",
	"remote operation error",
}

-- Rule 27.
local timer_ms = {
	[0] = 655.36, 0.01, 0.02, 0.03, 0.04, 0.06, 0.08, 0.12, 0.16, 0.24, 0.32, 0.48, 0.64, 0.96,
	1.28, 1.92, 2.56, 3.84, 5.12, 7.68, 10.24, 15.36, 20.48, 30.72, 40.96, 61.44, 81.92, 122.88,
	163.84, 245.76, 327.68, 491.52,
}

-- "Reasons" of ib.rst.
local reasons = {
	[0] = "none", "not ready", "other pair", "busy", "counts", "stale", "crossing", "version",
	"features", "shutting down", "malformed",
}

-- As kernel/core/api/core_terminate_words.h has them: layer, error type, code.
local errors = {
	[0x0100] = "remote protection: there is no such STag",
	[0x0101] = "remote protection: outside the bounds of the STag",
	[0x0102] = "remote protection: the STag does not allow this access",
	[0x0103] = "remote protection: the STag is not for this stream",
	[0x0104] = "remote protection: the TO wraps",
	[0x0109] = "remote protection: the STag cannot be invalidated",
	[0x01ff] = "remote protection: unspecified",
	[0x0205] = "remote operation: RDMAP version",
	[0x0206] = "remote operation: unexpected opcode",
	[0x0207] = "remote operation: catastrophic error of the stream",
	[0x0208] = "remote operation: catastrophic error of the device",
	[0x0209] = "remote operation: the STag cannot be invalidated",
	[0x0210] = "remote operation: acknowledges what was not sent",
	[0x02ff] = "remote operation: unspecified",
	[0x1100] = "tagged message: there is no such STag",
	[0x1101] = "tagged message: outside the bounds of the STag",
	[0x1102] = "tagged message: the STag is not for this stream",
	[0x1103] = "tagged message: the TO wraps",
	[0x1104] = "tagged message: DDP version",
	[0x1201] = "untagged message: there is no such queue",
	[0x1202] = "untagged message: no receive was posted for it",
	[0x1203] = "untagged message: MSN out of range",
	[0x1204] = "untagged message: wrong MO",
	[0x1205] = "untagged message: too long for its receive",
	[0x1206] = "untagged message: DDP version",
	[0x2001] = "TCP was closed in the middle of something",
	[0x2002] = "an FPDU has a wrong CRC",
	[0x2003] = "an FPDU or marker is not where it should be",
	[0x2004] = "invalid MPA Request or Reply frame",
	[0x2005] = "local catastrophic error during startup",
	[0x2006] = "the IRD is insufficient",
	[0x2007] = "no RTR type in common",
}

local atomics = { [0] = "Fetch Add", "Swap", "Compare and Swap" }
local extensions = { "Flush", "Atomic Write" } -- rule 110
local levels = { [0] = "range", "region" }
local layers = { [0] = "RDMAP", "DDP", "MPA" }

-- ---- fields ----

local f = {
	message = ProtoField.string("srnic_ib.message", "Message"),
	number = ProtoField.uint32("srnic_ib.number", "Request number"),
	answers = ProtoField.uint32("srnic_ib.answers", "Answers request"),
	-- MPA
	length = ProtoField.uint16("srnic_ib.length", "ULPDU Length"),
	padding = ProtoField.bytes("srnic_ib.padding", "Padding"),
	crc = ProtoField.uint32("srnic_ib.crc", "CRC-32C", base.HEX),
	crc_status = ProtoField.string("srnic_ib.crc.status", "CRC-32C status"),
	-- DDP
	tagged = ProtoField.bool("srnic_ib.tagged", "Tagged", 8, nil, 0x80),
	last = ProtoField.bool("srnic_ib.last", "Last", 8, nil, 0x40),
	ddp_reserved = ProtoField.uint8("srnic_ib.ddp.reserved", "Reserved", base.HEX, nil, 0x3c),
	ddp_version = ProtoField.uint8("srnic_ib.ddp.version", "DDP version", base.DEC, nil, 0x03),
	stag = ProtoField.uint32("srnic_ib.stag", "STag", base.HEX),
	to = ProtoField.uint64("srnic_ib.to", "TO", base.HEX),
	reserved_word = ProtoField.uint32("srnic_ib.reserved", "Reserved for RDMAP", base.HEX),
	queue = ProtoField.uint32("srnic_ib.queue", "Queue"),
	msn = ProtoField.uint32("srnic_ib.msn", "MSN"),
	mo = ProtoField.uint32("srnic_ib.mo", "MO"),
	payload = ProtoField.bytes("srnic_ib.payload", "Payload"),
	-- RDMAP
	version = ProtoField.uint8("srnic_ib.version", "RDMAP version", base.DEC, nil, 0xc0),
	ask = ProtoField.bool("srnic_ib.ask", "Ask", 8, nil, 0x20),
	more = ProtoField.bool("srnic_ib.more", "More", 8, nil, 0x10),
	opcode = ProtoField.uint8("srnic_ib.opcode", "Opcode", base.DEC, opcodes, 0x0f),
	invalidate = ProtoField.uint32("srnic_ib.invalidate", "Invalidate STag", base.HEX),
	immediate = ProtoField.uint32("srnic_ib.immediate", "Immediate Data", base.HEX),
	immediate_rest = ProtoField.bytes("srnic_ib.immediate.rest", "Reserved"),
	sink_stag = ProtoField.uint32("srnic_ib.read.sink_stag", "Sink STag", base.HEX),
	sink_to = ProtoField.uint64("srnic_ib.read.sink_to", "Sink TO", base.HEX),
	read_length = ProtoField.uint32("srnic_ib.read.length", "Length"),
	source_stag = ProtoField.uint32("srnic_ib.read.source_stag", "Source STag", base.HEX),
	source_to = ProtoField.uint64("srnic_ib.read.source_to", "Source TO", base.HEX),
	atomic_code = ProtoField.uint32("srnic_ib.atomic.code", "Operation", base.DEC, atomics,
					0x0f),
	atomic_id = ProtoField.uint32("srnic_ib.atomic.id", "Request identifier", base.HEX),
	atomic_stag = ProtoField.uint32("srnic_ib.atomic.stag", "Remote STag", base.HEX),
	atomic_to = ProtoField.uint64("srnic_ib.atomic.to", "Remote TO", base.HEX),
	atomic_data = ProtoField.uint64("srnic_ib.atomic.data", "Add or Swap Data", base.HEX),
	atomic_mask = ProtoField.uint64("srnic_ib.atomic.mask", "Add or Swap Mask", base.HEX),
	atomic_compare = ProtoField.uint64("srnic_ib.atomic.compare", "Compare Data", base.HEX),
	atomic_compare_mask = ProtoField.uint64("srnic_ib.atomic.compare_mask", "Compare Mask",
						base.HEX),
	atomic_original = ProtoField.uint64("srnic_ib.atomic.original", "Original value", base.HEX),
	extended_code = ProtoField.uint8("srnic_ib.extended.code", "Operation", base.DEC,
					 extensions),
	extended_type = ProtoField.uint8("srnic_ib.extended.type", "Type", base.HEX),
	extended_level = ProtoField.uint8("srnic_ib.extended.level", "Level", base.DEC, levels),
	extended_stag = ProtoField.uint32("srnic_ib.extended.stag", "Remote STag", base.HEX),
	extended_to = ProtoField.uint64("srnic_ib.extended.to", "Remote TO", base.HEX),
	extended_length = ProtoField.uint64("srnic_ib.extended.length", "Length"),
	extended_data = ProtoField.bytes("srnic_ib.extended.data", "Data"),
	layer = ProtoField.uint8("srnic_ib.terminate.layer", "Layer", base.DEC, layers, 0xf0),
	error_type = ProtoField.uint8("srnic_ib.terminate.type", "Error type", base.DEC, nil, 0x0f),
	error_code = ProtoField.uint8("srnic_ib.terminate.code", "Error code", base.HEX),
	error = ProtoField.string("srnic_ib.terminate.error", "Error"),
	has_length = ProtoField.bool("srnic_ib.terminate.m", "Has the segment's length", 8, nil,
				     0x80),
	has_ddp = ProtoField.bool("srnic_ib.terminate.d", "Has the DDP header", 8, nil, 0x40),
	has_rdmap = ProtoField.bool("srnic_ib.terminate.r", "Has the RDMAP header", 8, nil, 0x20),
	culprit_length = ProtoField.uint16("srnic_ib.terminate.length", "Segment's length"),
	culprit = ProtoField.bytes("srnic_ib.terminate.header", "Headers"),
	-- Ack, rule 8
	delivered = ProtoField.uint32("srnic_ib.ack.delivered", "Delivered"),
	syndrome = ProtoField.uint8("srnic_ib.ack.syndrome", "Syndrome", base.DEC, syndromes),
	timer = ProtoField.uint8("srnic_ib.ack.timer", "Timer"),
	timer_ms = ProtoField.double("srnic_ib.ack.timer_ms", "Timer in ms"),
	ack_rest = ProtoField.bytes("srnic_ib.ack.rest", "Reserved"),
	refused = ProtoField.uint32("srnic_ib.ack.refused", "Refuses request"),
	-- Startup, rules 41 and 42
	key = ProtoField.string("srnic_ib.startup.key", "Key"),
	m = ProtoField.bool("srnic_ib.startup.m", "M, markers", 8, nil, 0x80),
	c = ProtoField.bool("srnic_ib.startup.c", "C, CRCs", 8, nil, 0x40),
	r = ProtoField.bool("srnic_ib.startup.r", "R, refuses", 8, nil, 0x20),
	s = ProtoField.bool("srnic_ib.startup.s", "S, enhanced", 8, nil, 0x10),
	flags_rest = ProtoField.uint8("srnic_ib.startup.reserved", "Reserved", base.HEX, nil, 0x0f),
	revision = ProtoField.uint8("srnic_ib.startup.revision", "Revision"),
	pd_length = ProtoField.uint16("srnic_ib.startup.length", "Private data length"),
	magic = ProtoField.string("srnic_ib.startup.magic", "Magic"),
	startup_version = ProtoField.uint8("srnic_ib.startup.version", "Version"),
	reason = ProtoField.uint8("srnic_ib.startup.reason", "Reason", base.DEC, reasons),
	features = ProtoField.uint32("srnic_ib.startup.features", "Features", base.HEX),
	needs = ProtoField.uint32("srnic_ib.startup.needs", "Needs", base.HEX),
	source_gid = ProtoField.ipv6("srnic_ib.startup.source_gid", "Source GID"),
	destination_gid = ProtoField.ipv6("srnic_ib.startup.destination_gid", "Destination GID"),
	source_qpn = ProtoField.uint24("srnic_ib.startup.source_qpn", "Source QPN", base.HEX),
	destination_qpn = ProtoField.uint24("srnic_ib.startup.destination_qpn", "Destination QPN",
					     base.HEX),
	ird = ProtoField.uint16("srnic_ib.startup.ird", "IRD"),
	ord = ProtoField.uint16("srnic_ib.startup.ord", "ORD"),
	sent = ProtoField.uint32("srnic_ib.startup.sent", "Sent"),
	startup_delivered = ProtoField.uint32("srnic_ib.startup.delivered", "Delivered"),
	source_attempt = ProtoField.uint32("srnic_ib.startup.source_attempt", "Source attempt"),
	destination_attempt = ProtoField.uint32("srnic_ib.startup.destination_attempt",
						"Destination attempt"),
	source_incarnation = ProtoField.uint64("srnic_ib.startup.source_incarnation",
					       "Source incarnation", base.HEX),
	destination_incarnation = ProtoField.uint64("srnic_ib.startup.destination_incarnation",
						    "Destination incarnation", base.HEX),
	startup_rest = ProtoField.bytes("srnic_ib.startup.rest", "Rest of the private data"),
}
for _, field in pairs(f) do
	table.insert(srnic_ib.fields, field)
end

local expert_of = {
	crc = ProtoExpert.new("srnic_ib.crc.bad", "The CRC is wrong", expert.group.CHECKSUM,
			      expert.severity.ERROR),
	broken = ProtoExpert.new("srnic_ib.broken", "Breaks a rule", expert.group.PROTOCOL,
				 expert.severity.ERROR),
	cut = ProtoExpert.new("srnic_ib.cut", "Captured in part", expert.group.UNDECODED,
			      expert.severity.NOTE),
	lost = ProtoExpert.new("srnic_ib.lost", "No FPDU begins here", expert.group.UNDECODED,
			       expert.severity.WARN),
}
srnic_ib.experts = { expert_of.crc, expert_of.broken, expert_of.cut, expert_of.lost }
srnic_ib.prefs.crc = Pref.bool("Check CRCs", true, "Compute the CRC-32C of each FPDU")

local stream_of = Field.new("tcp.stream")
local gap_of = Field.new("tcp.analysis.lost_segment")

-- ---- CRC-32C (RFC 5044 4.4) ----

local crc_of = {}
for octet = 0, 255 do
	local rest = octet
	for _ = 1, 8 do
		local odd = bit.band(rest, 1) == 1
		rest = bit.rshift(rest, 1)
		if odd then
			rest = bit.bxor(rest, 0x82f63b78)
		end
	end
	crc_of[octet] = rest
end

-- As the field has it, read with its lowest octet first.
local function crc32c(range)
	local octets, rest = range:bytes(), bit.bnot(0)
	for i = 0, octets:len() - 1 do
		local at = bit.band(bit.bxor(rest, octets:get_index(i)), 0xff)
		rest = bit.bxor(bit.rshift(rest, 8), crc_of[at])
	end
	return bit.bnot(rest)
end

-- agreed: rule 41, nil if the Reply was not captured.
local function crc_status(tvb, length, agreed)
	local field = tvb(length - 4, 4)
	if agreed == false or (agreed == nil and field:uint() == 0) then
		return "none"
	elseif not srnic_ib.prefs.crc then
		return "unchecked"
	end
	return bit.tobit(field:le_uint()) == crc32c(tvb(0, length - 4)) and "good" or "bad"
end

-- ---- streams ----

-- By TCP's number of the stream: kind is "ours", "other" or nil; crc, what the Reply says; ends, by
-- sender. numbers, until something is missing: of an end, done is the number of its last whole
-- request, by_msn those of its untagged requests, and asked those of Reads and atomic operations
-- without a response. What messages were found to be is in seen: Wireshark may dissect them again,
-- in any order.
local streams, seen

function srnic_ib.init()
	streams, seen = {}, {}
end

local function stream_here()
	local id = stream_of().value
	streams[id] = streams[id] or { ends = {} }
	return streams[id]
end

local function end_at(stream, address, port)
	local name = tostring(address) .. " " .. port
	stream.ends[name] = stream.ends[name] or {}
	return stream.ends[name]
end

local function sender(stream, pinfo)
	return end_at(stream, pinfo.src, pinfo.src_port)
end

local function receiver(stream, pinfo)
	return end_at(stream, pinfo.dst, pinfo.dst_port)
end

-- Numbers need every message of both ends.
local function stop_counting(stream)
	for _, one in pairs(stream.ends) do
		one.numbers = nil
	end
end

local function next_number(number)
	return (number + 1) % 0x100000000
end

-- Rules 9 and 22: of a request that is sent again, the MSN leads back to its number.
local function number_of(numbers, head)
	local number = next_number(numbers.done)
	if head.msn then
		local name = head.queue .. " " .. head.msn
		number = numbers.by_msn[name] or number
		numbers.by_msn[name] = number
	end
	return number
end

-- Requests from number on are not sent any more, or are sent again: they have no responses.
local function forget_from(numbers, number)
	local asked = numbers.asked
	while #asked > 0 and (asked[#asked] - number) % 0x100000000 < 0x80000000 do
		table.remove(asked)
	end
end

local function count(numbers, head, found)
	if not head.message.counted then
		return
	end
	local number = number_of(numbers, head)
	found.number = number
	forget_from(numbers, number)
	if not head.last or head.more then
		numbers.done = (number - 1) % 0x100000000
		return
	end
	numbers.done = number
	if head.queue == 1 then
		table.insert(numbers.asked, number)
	end
end

local function count_response(numbers, head, found)
	if head.opcode ~= READ_RESPONSE and head.opcode ~= ATOMIC_RESPONSE then
		return
	end
	found.answers = numbers.asked[1]
	if head.last then
		table.remove(numbers.asked, 1)
	end
end

local function find(stream, pinfo, head, fault)
	local found = { crc = stream.crc }
	local own, peer = sender(stream, pinfo).numbers, receiver(stream, pinfo).numbers
	if own and peer and not fault then
		count(own, head, found)
		count_response(peer, head, found)
	end
	return found
end

-- What was found when the octets at this place of this packet were dissected first. A packet may
-- end an FPDU that other packets begin: those have a tvb of their own.
local function first_time(pinfo, tvb, at, learn)
	local key = pinfo.number .. "/" .. tvb:offset() .. "/" .. at
	if not seen[key] then
		seen[key] = learn()
	end
	return seen[key]
end

-- ---- fields of fixed places, as far as they were captured ----

local function add(tree, field, tvb, at, length)
	if at + length <= tvb:len() then
		return tree:add(field, tvb(at, length))
	end
end

-- rows: { field, length } one behind the other.
local function add_all(tree, tvb, at, rows)
	for _, row in ipairs(rows) do
		add(tree, row[1], tvb, at, row[2])
		at = at + row[2]
	end
end

local function add_rest(tree, field, tvb, at, stop)
	stop = math.min(stop, tvb:len())
	if stop > at then
		tree:add(field, tvb(at, stop - at))
	end
end

local function generated(tree, field, tvb, at, length, value)
	tree:add(field, tvb(at, length), value):set_generated()
end

local function uint(tvb, at, length)
	return at + length <= tvb:len() and tvb(at, length):uint() or nil
end

-- Info of the packet: the messages, one after the other.
local function say(pinfo, tree, words)
	pinfo.cols.protocol = "srnic_ib"
	local others = tostring(pinfo.cols.info):find("%S$")
	pinfo.cols.info:append((others and "; " or "") .. words)
	pinfo.cols.info:fence()
	tree:append_text(", " .. words)
end

local function broken(tree, why)
	tree:add_proto_expert_info(expert_of.broken, why)
end

-- ---- startup frames (rules 40 to 53) ----

local keys = { Request = "MPA ID Req Frame", Reply = "MPA ID Rep Frame" }
local MAGIC = "srnic-ib"
local HEADER, HEAD, DATA = 20, 20, 96

local function text(tvb, at, length)
	return tvb(at, math.min(length, tvb:len() - at)):raw()
end

local function begins(whole, part)
	return whole:sub(1, #part) == part
end

-- Request, Reply, or nil. Also of a frame of which only the first octets are there, which may be
-- either.
local function startup_at(tvb, at)
	local octets = text(tvb, at, 16)
	for kind, key in pairs(keys) do
		if begins(key, octets) then
			return kind
		end
	end
end

-- true: the private data have the magic; nil: that much is not here yet.
local function has_magic(tvb, at)
	if tvb:len() - at >= HEADER and tvb(at + 18, 2):uint() < #MAGIC then
		return false
	end
	local octets = tvb:len() - at > HEADER and text(tvb, at + HEADER, #MAGIC) or ""
	if not begins(MAGIC, octets) then
		return false
	end
	return #octets == #MAGIC or nil
end

local function is_zero(tvb, at, length)
	for i = at, at + length - 1 do
		if i >= tvb:len() or tvb(i, 1):uint() ~= 0 then
			return false
		end
	end
	return true
end

-- Rules 41, 44 and 45. says: what the first octets are.
local function check_startup(tvb, tree, says)
	if bit.band(says.flags, 0x90) ~= 0 or tvb(17, 1):uint() ~= 2 then
		broken(tree, "M or S is set, or the revision is not 2 (rule 41)")
	end
	if says.refuses ~= (says.reason ~= 0) then
		broken(tree, "A Reply that refuses has a Reason, and no other frame has (rule 44)")
	end
	if says.version ~= 1 then
		return
	end
	if says.length < DATA then
		broken(tree, "The private data have fewer than 96 octets (rule 44)")
	elseif not says.refuses and
			(is_zero(tvb, HEADER + 72, 4) or is_zero(tvb, HEADER + 80, 8)) then
		broken(tree, "Source attempt or Source incarnation is zero (rule 44)")
	end
end

local function add_frame_header(tvb, tree)
	add(tree, f.key, tvb, 0, 16)
	for _, field in ipairs { f.m, f.c, f.r, f.s, f.flags_rest } do
		add(tree, field, tvb, 16, 1)
	end
	add_all(tree, tvb, 17, { { f.revision, 1 }, { f.pd_length, 2 } })
end

local function add_private_data(tvb, tree, says)
	local stop = math.min(tvb:len(), HEADER + says.length)
	local data = tvb(0, stop):tvb()
	add_all(tree, data, HEADER, { { f.magic, 8 }, { f.startup_version, 1 }, { f.reason, 1 } })
	add_all(tree, data, HEADER + 12, { { f.features, 4 }, { f.needs, 4 } })
	if says.version ~= 1 then
		add_rest(tree, f.startup_rest, data, HEADER + HEAD, stop)
		return
	end
	add_all(tree, data, HEADER + 20, { { f.source_gid, 16 }, { f.destination_gid, 16 } })
	add(tree, f.source_qpn, data, HEADER + 53, 3)
	add(tree, f.destination_qpn, data, HEADER + 57, 3)
	add_all(tree, data, HEADER + 60, {
		{ f.ird, 2 }, { f.ord, 2 }, { f.sent, 4 }, { f.startup_delivered, 4 },
		{ f.source_attempt, 4 }, { f.destination_attempt, 4 },
		{ f.source_incarnation, 8 }, { f.destination_incarnation, 8 },
	})
	add_rest(tree, f.startup_rest, data, HEADER + DATA, stop)
end

local function startup_words(tvb, says)
	local words = says.kind
	if says.refuses then
		words = words .. " refuses: " .. (reasons[says.reason] or says.reason)
	elseif says.kind == "Reply" then
		words = words .. " accepts"
	end
	if says.version ~= 1 then
		return words .. ", version " .. says.version
	elseif says.length < DATA or tvb:len() < HEADER + DATA then
		return words
	end
	return words .. (", QP 0x%06x to 0x%06x, attempt %d"):format(
		tvb(HEADER + 53, 3):uint(), tvb(HEADER + 57, 3):uint(), tvb(HEADER + 72, 4):uint())
end

-- A Reply that accepts begins the counts of both ends.
local function learn_startup(stream, pinfo, tvb, says)
	if says.length < DATA or says.version ~= 1 or tvb:len() < HEADER + DATA or says.refuses then
		return
	end
	local own = sender(stream, pinfo)
	own.numbers = { done = tvb(HEADER + 64, 4):uint(), by_msn = {}, asked = {} }
	if says.kind == "Reply" then
		stream.crc = bit.band(says.flags, 0x40) ~= 0
		stream.extended = bit.band(tvb(HEADER + 12, 4):uint(), 1) ~= 0
	end
end

local function dissect_startup(kind, tvb, pinfo, root, stream)
	local tree = root:add(srnic_ib, tvb())
	local says = {
		kind = kind, flags = tvb(16, 1):uint(), length = tvb(18, 2):uint(),
		version = uint(tvb, HEADER + 8, 1) or 1, reason = uint(tvb, HEADER + 9, 1) or 0,
	}
	says.refuses = kind == "Reply" and bit.band(says.flags, 0x20) ~= 0
	first_time(pinfo, tvb, 0, function()
		learn_startup(stream, pinfo, tvb, says)
		return {}
	end)
	add_frame_header(tvb, tree)
	add_private_data(tvb, tree, says)
	check_startup(tvb, tree, says)
	if tvb:len() < HEADER + says.length then
		tree:add_proto_expert_info(expert_of.cut)
	end
	local words = startup_words(tvb, says)
	generated(tree, f.message, tvb, 0, HEADER, words)
	say(pinfo, tree, words)
end

-- ---- the messages' own parts ----

local function add_ack(tvb, tree, at)
	add_all(tree, tvb, at, {
		{ f.delivered, 4 }, { f.syndrome, 1 }, { f.timer, 1 }, { f.ack_rest, 2 },
	})
	if tvb:len() < at + 6 then
		return ""
	end
	local delivered, syndrome = tvb(at, 4):uint(), tvb(at + 4, 1):uint()
	local timer = tvb(at + 5, 1):uint()
	local words = " " .. delivered
	if syndrome == READY then
		return words
	end
	local refused = next_number(delivered)
	generated(tree, f.refused, tvb, at, 4, refused)
	words = words .. ", refuses " .. refused .. ": " ..
		(syndromes[syndrome] or "syndrome " .. syndrome)
	if not syndromes[syndrome] then
		broken(tree, "The syndrome is not in the table (rule 17)")
	elseif syndrome == NOT_READY and timer_ms[timer] then
		generated(tree, f.timer_ms, tvb, at + 5, 1, timer_ms[timer])
		words = words .. (", %g ms"):format(timer_ms[timer])
	elseif syndrome == NOT_READY then
		broken(tree, "The timer is above 31 (rule 18)")
	end
	return words
end

local function add_read_request(tvb, tree, at)
	add_all(tree, tvb, at, {
		{ f.sink_stag, 4 }, { f.sink_to, 8 }, { f.read_length, 4 }, { f.source_stag, 4 },
		{ f.source_to, 8 },
	})
	return ""
end

local function add_atomic_request(tvb, tree, at)
	add_all(tree, tvb, at, {
		{ f.atomic_code, 4 }, { f.atomic_id, 4 }, { f.atomic_stag, 4 }, { f.atomic_to, 8 },
		{ f.atomic_data, 8 }, { f.atomic_mask, 8 }, { f.atomic_compare, 8 },
		{ f.atomic_compare_mask, 8 },
	})
	local code = uint(tvb, at, 4)
	return code and ", " .. (atomics[bit.band(code, 0x0f)] or "unknown operation") or ""
end

local function add_atomic_response(tvb, tree, at)
	add_all(tree, tvb, at, { { f.atomic_id, 4 }, { f.atomic_original, 8 } })
	return ""
end

-- Rule 110.
local function add_extended(tvb, tree, at)
	local code = uint(tvb, at, 1)
	add_all(tree, tvb, at, {
		{ f.extended_code, 1 }, { f.extended_type, 1 }, { f.extended_level, 1 },
	})
	add_all(tree, tvb, at + 4, {
		{ f.extended_stag, 4 }, { f.extended_to, 8 },
		{ code == 1 and f.extended_length or f.extended_data, 8 },
	})
	return code and ", " .. (extensions[code] or "unknown operation") or ""
end

local function add_immediate(tvb, tree, at)
	add_all(tree, tvb, at, { { f.immediate, 4 }, { f.immediate_rest, 4 } })
	return ""
end

-- Errors of type 0 of RDMAP and DDP are local and catastrophic, whatever their code.
local function error_in_words(code)
	local kind = bit.rshift(code, 8)
	return errors[code] or
		((kind == 0x00 or kind == 0x10) and "local catastrophic error" or "unknown error")
end

-- RFC 5040 4.8.
local function add_terminate(tvb, tree, at, stop)
	add(tree, f.layer, tvb, at, 1)
	add_all(tree, tvb, at, { { f.error_type, 1 }, { f.error_code, 1 } })
	for _, field in ipairs { f.has_length, f.has_ddp, f.has_rdmap } do
		add(tree, field, tvb, at + 2, 1)
	end
	local code, has = uint(tvb, at, 2), uint(tvb, at + 2, 1)
	if not has then
		return ""
	end
	generated(tree, f.error, tvb, at, 2, error_in_words(code))
	at = at + 4
	if bit.band(has, 0x80) ~= 0 then
		add(tree, f.culprit_length, tvb, at, 2)
		at = at + 2
	end
	add_rest(tree, f.culprit, tvb, at, stop)
	return ": " .. error_in_words(code)
end

-- By opcode: the length, nil if it varies, and what shows it and returns words.
local own_parts = {
	[READ_REQUEST] = { 28, add_read_request },
	[TERMINATE] = { nil, add_terminate },
	[8] = { 8, add_immediate },
	[9] = { 8, add_immediate },
	[ATOMIC_REQUEST] = { 52, add_atomic_request },
	[ATOMIC_RESPONSE] = { 12, add_atomic_response },
	[ACK] = { 8, add_ack },
	[EXTENDED] = { 24, add_extended },
}

-- ---- FPDUs ----

local TAGGED, UNTAGGED = 14, 18

local function wire_length(length)
	return bit.band(length + 2 + 3, bit.bnot(3)) + 4
end

-- The headers at the begin of a tvb, which has at least four octets.
local function head_of(tvb)
	local ddp, rdmap = tvb(2, 1):uint(), tvb(3, 1):uint()
	local head = {
		length = tvb(0, 2):uint(),
		tagged = bit.band(ddp, 0x80) ~= 0, last = bit.band(ddp, 0x40) ~= 0,
		ddp_version = bit.band(ddp, 3), rdmap_version = bit.rshift(rdmap, 6),
		ask = bit.band(rdmap, 0x20) ~= 0, opcode = bit.band(rdmap, 0x0f),
	}
	head.message = messages[head.opcode]
	head.more = head.opcode == WRITE and bit.band(rdmap, 0x10) ~= 0
	head.size = head.tagged and TAGGED or UNTAGGED
	if not head.tagged then
		head.queue, head.msn = uint(tvb, 8, 4), uint(tvb, 12, 4)
	end
	return head
end

-- Which rule the headers break, or nil. extended: rule 111, as far as is known.
local function fault_of(head, extended)
	if head.length < head.size then
		return "The ULPDU is shorter than its header"
	elseif head.ddp_version ~= 1 then
		return "The DDP version is not 1"
	elseif head.rdmap_version > 1 then
		return "The RDMAP version is not 0 or 1"
	elseif head.opcode == EXTENDED and not extended then
		return "Flush and Atomic Write are not agreed (rule 111)"
	elseif head.tagged ~= (head.message.queue == nil) then
		return "A message of this opcode is " .. (head.tagged and "not " or "") .. "tagged"
	elseif not head.tagged and head.queue and head.queue ~= head.message.queue then
		return "The message is on the wrong queue"
	end
	local own = own_parts[head.opcode]
	if own and own[1] and head.length ~= head.size + own[1] then
		return "A message of this opcode has another length"
	end
end

local function add_headers(tvb, tree, head)
	add(tree, f.length, tvb, 0, 2)
	for _, field in ipairs { f.tagged, f.last, f.ddp_reserved, f.ddp_version } do
		add(tree, field, tvb, 2, 1)
	end
	for _, field in ipairs { f.version, f.ask, f.more, f.opcode } do
		add(tree, field, tvb, 3, 1)
	end
	if head.tagged then
		add_all(tree, tvb, 4, { { f.stag, 4 }, { f.to, 8 } })
		return
	end
	local words = { stag = f.invalidate, immediate = f.immediate }
	add_all(tree, tvb, 4, {
		{ words[head.message.word] or f.reserved_word, 4 }, { f.queue, 4 }, { f.msn, 4 },
		{ f.mo, 4 },
	})
end

-- Behind the ULPDU.
local function add_trailer(tvb, tree, head, found)
	local whole, stop = wire_length(head.length), 2 + head.length
	add_rest(tree, f.padding, tvb, stop, whole - 4)
	local field = add(tree, f.crc, tvb, whole - 4, 4)
	if not field then
		tree:add_proto_expert_info(expert_of.cut)
		return
	end
	local status = crc_status(tvb, whole, found.crc)
	generated(tree, f.crc_status, tvb, whole - 4, 4, status)
	if status == "bad" then
		field:add_proto_expert_info(expert_of.crc)
	end
end

-- Rule 3: where Ask counts.
local function asks(head)
	return head.ask and head.last and not head.more and
		(head.message.counted or head.opcode == ACK)
end

local function message_words(head, found, own)
	local words = head.message.name
	if found.number then
		words = words .. " " .. found.number
	elseif found.answers then
		words = words .. " to " .. found.answers
	end
	words = words .. own
	if not head.last then
		words = words .. ", goes on"
	end
	if head.more then
		words = words .. ", Immediate Data follow"
	end
	return words .. (asks(head) and ", asks" or "")
end

-- The octets of one FPDU, as far as they are there.
local function dissect_fpdu(tvb, pinfo, root, stream)
	local tree, head = root:add(srnic_ib, tvb()), head_of(tvb)
	local fault, start, stop, own = fault_of(head, stream.extended ~= false), 2 + head.size, 2 + head.length, ""
	local found = first_time(pinfo, tvb, 0, function()
		return find(stream, pinfo, head, fault)
	end)

	add_headers(tvb, tree, head)
	if found.number then
		generated(tree, f.number, tvb, 0, 4, found.number)
	end
	if found.answers then
		generated(tree, f.answers, tvb, 0, 4, found.answers)
	end
	if own_parts[head.opcode] and not fault then
		own = own_parts[head.opcode][2](tvb, tree, start, stop)
	else
		add_rest(tree, f.payload, tvb, start, stop)
	end
	add_trailer(tvb, tree, head, found)
	if fault then
		broken(tree, fault)
	end
	local words = message_words(head, found, own)
	generated(tree, f.message, tvb, 0, 4, words)
	say(pinfo, tree, words)
end

-- ---- cutting the stream ----

-- What begins at an octet: "Request", "Reply", "fpdu", with its length; nil and how many octets are
-- missing to know; or false: nothing that can be told.
local function unit_at(tvb, at, trusted)
	local here = tvb:len() - at
	local kind = startup_at(tvb, at)
	if kind then
		if here < HEADER then
			return nil, HEADER - here
		end
		local length = tvb(at + 18, 2):uint()
		if length > 512 then
			return false
		end
		return kind, HEADER + length
	elseif here < 4 then
		return nil, 4 - here
	end
	local head = head_of(tvb(at):tvb())
	if head.length < TAGGED or (not trusted and fault_of(head, true)) then
		return false
	end
	return "fpdu", wire_length(head.length)
end

-- Asks TCP for more octets. False: it has none, because they were not captured, or may not wait.
local function wait_for(pinfo, at, missing)
	if pinfo.can_desegment == 0 then
		return false
	end
	pinfo.desegment_offset = at
	pinfo.desegment_len = missing
	return true
end

-- What follows from this end cannot be told by its place.
local function lose(stream, pinfo)
	if not pinfo.visited then
		sender(stream, pinfo).lost = true
		stop_counting(stream)
	end
end

-- kind: false or nil, of unit_at().
local function give_up(tvb, pinfo, root, at, stream, kind)
	local tree = root:add(srnic_ib, tvb(at))
	local words = kind == nil and "the rest was not captured" or "no FPDU begins here"
	generated(tree, f.message, tvb, at, 1, words)
	tree:add_proto_expert_info(kind == nil and expert_of.cut or expert_of.lost)
	lose(stream, pinfo)
	say(pinfo, tree, words)
end

-- Whether the octets at the begin of a tvb are known to follow the FPDU before them.
local function is_trusted(stream, pinfo, tvb)
	return first_time(pinfo, tvb, "trust", function()
		if gap_of() then
			lose(stream, pinfo)
		end
		local own = sender(stream, pinfo)
		return { trusted = own.numbers ~= nil and not own.lost }
	end).trusted
end

local function dissect_unit(kind, tvb, pinfo, root, stream)
	if kind == "fpdu" then
		dissect_fpdu(tvb, pinfo, root, stream)
	else
		dissect_startup(kind, tvb, pinfo, root, stream)
	end
end

-- The octets that are here of what begins at an octet. Numbers end with what is not whole.
local function dissect_here(kind, length, tvb, pinfo, root, stream, at)
	local here = math.min(length, tvb:len() - at)
	dissect_unit(kind, tvb(at, here):tvb(), pinfo, root, stream)
	if here < length then
		lose(stream, pinfo)
	end
end

local function dissect_stream(tvb, pinfo, root, stream)
	local at, trusted = 0, is_trusted(stream, pinfo, tvb)

	stream.kind = "ours"
	while at < tvb:len() do
		local kind, length = unit_at(tvb, at, trusted)
		local missing = kind == nil and length or kind and length - (tvb:len() - at) or 0

		if missing > 0 and wait_for(pinfo, at, missing) then
			break
		end
		if at == 0 then
			pinfo.cols.info:set("") -- up to the fence
		end
		if not kind then
			give_up(tvb, pinfo, root, at, stream, kind)
			break
		end
		dissect_here(kind, length, tvb, pinfo, root, stream, at)
		at = at + length
		trusted = true
	end
	return tvb:len()
end

-- Rule 44: what else comes to the port. A Request without the magic is another protocol's, but the
-- Reply that refuses it has the magic.
local function is_ours(tvb, stream, on_port)
	local kind = startup_at(tvb, 0)
	if kind then
		local magic = has_magic(tvb, 0)
		if magic == false then
			stream.kind = "other"
		end
		return magic or (magic == nil and on_port)
	end
	return stream.kind == "ours" or
		(on_port and stream.kind == nil and tvb:len() >= 4 and not fault_of(head_of(tvb), true))
end

-- For the port, "Decode As" and streams that are known. 0: another dissector may try.
function srnic_ib.dissector(tvb, pinfo, root)
	local stream = stream_here()
	if not is_ours(tvb, stream, true) then
		return 0
	end
	return dissect_stream(tvb, pinfo, root, stream)
end

srnic_ib:register_heuristic("tcp", function(tvb, pinfo, root)
	local stream = stream_here()
	if tvb:len() == 0 or not is_ours(tvb, stream, false) then
		return false
	end
	pinfo.conversation = srnic_ib
	dissect_stream(tvb, pinfo, root, stream)
	return true
end)
DissectorTable.get("tcp.port"):add(PORT, srnic_ib)
