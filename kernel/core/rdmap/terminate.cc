// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// The Terminate message (RFC 5040 4.8): encodes and decodes its header and the headers in it, and
// finds its meaning for the consumers at both ends.
#include "rdmap/terminate.hh"

#include "rdma/srnic-abi.h"

namespace srnic {
namespace {

// The unread octets of a received Terminate message.
struct Reader {
	const u8 *data;
	u32 left;

	bool take(void *to, u32 len)
	{
		if (len > left)
			return false;
		__builtin_memcpy(to, data, len);
		data += len;
		left -= len;
		return true;
	}
};

u8 header_control(const core_terminate &term)
{
	return (term.has_ddp ? terminate_ddp_len | terminate_ddp_header : 0) |
	       (term.has_rdmap ? terminate_rdmap_header : 0);
}

// The DDP Segment Length is present with M, and also with D (4.8), but is valid only with M.
bool read_ddp_len(Reader &reader, u8 control, core_terminate &term)
{
	be<u16> len{};

	if (!(control & (terminate_ddp_len | terminate_ddp_header)))
		return true;
	if (!reader.take(&len, sizeof(len)))
		return false;
	term.ddp_len = control & terminate_ddp_len ? len.host() : 0;
	return true;
}

// A Tagged header of 112 bits or an Untagged one of 144, by its T bit (RFC 5041 4.1).
bool read_ddp_header(Reader &reader, u8 control, core_terminate &term)
{
	if (!(control & terminate_ddp_header))
		return true;
	if (!reader.left)
		return false;
	term.ddp_header_len = ddp_header_len(DdpControl{reader.data[0]}.tagged());
	term.has_ddp = 1;
	return reader.take(term.ddp, term.ddp_header_len);
}

bool read_rdmap_header(Reader &reader, u8 control, core_terminate &term)
{
	if (!(control & terminate_rdmap_header))
		return true;
	term.has_rdmap = 1;
	return reader.take(term.read_request, sizeof(term.read_request));
}

// ---- Meaning ----

bool is(const core_terminate &term, core_layer layer, u8 etype)
{
	return term.layer == layer && term.etype == etype;
}

bool is_local(const core_terminate &term)
{
	return is(term, CORE_LAYER_RDMAP, local_catastrophic.etype);
}

// Error type 1 is about the buffer in a header: DDP's Tagged Buffer Error, RDMAP's Remote
// Protection Error.
bool is_access_error(const core_terminate &term)
{
	return is(term, CORE_LAYER_DDP, 1) || is(term, CORE_LAYER_RDMAP, 1);
}

// Is the DDP header of the terminated segment included, and of this kind (RFC 5041 4.1)?
bool has_header(const core_terminate &term, bool tagged)
{
	return term.has_ddp && DdpControl{term.ddp[0]}.tagged() == tagged;
}

u8 opcode_of(const core_terminate &term) { return RdmapControl{term.ddp[1]}.opcode(); }

bool is_on(const core_terminate &term, Queue queue)
{
	return has_header(term, false) &&
	       load<UntaggedHeader>(term.ddp).qn.host() == static_cast<u32>(queue);
}

} // namespace
} // namespace srnic

using namespace srnic;

u32 core_terminate_code(const struct core_terminate *term)
{
	return u32{term->layer} << 12 | u32{term->etype} << 8 | term->code;
}

void core_terminate_of_host(enum core_host_error what, struct core_terminate *out)
{
	*out = terminate_of(what == CORE_HOST_LLP_LOST ? error(LlpError::closed)
						       : local_catastrophic);
}

enum core_fault core_terminate_fault(const struct core_terminate *sent)
{
	if (is_local(*sent))
		return CORE_FAULT_OWN;
	if (sent->layer == CORE_LAYER_LLP && sent->code == static_cast<u8>(LlpError::crc))
		return CORE_FAULT_CRC;
	return CORE_FAULT_PEER;
}

enum core_stream_event core_terminate_event(const struct core_terminate *sent)
{
	if (is_access_error(*sent))
		return CORE_STREAM_ACCESS_ERROR;
	if (is(*sent, CORE_LAYER_RDMAP, 2))
		return CORE_STREAM_REQUEST_ERROR;
	return CORE_STREAM_FATAL;
}

// RFC 5041 7.2: the message was too long for its buffer. Other errors of the message are not the
// receive's, which is flushed.
u8 core_terminate_receive_status(const struct core_terminate *sent)
{
	bool too_long = is(*sent, CORE_LAYER_DDP, 2) &&
			sent->code == static_cast<u8>(UntaggedError::too_long);

	return too_long && is_on(*sent, Queue::send) ? SRNIC_WC_LOC_LEN_ERR : SRNIC_WC_FLUSH_ERR;
}

// How the refused request completes. A Remote Operation Error ends an atomic operation on a word
// that is not aligned (RFC 7306 8.2), or at a peer without atomics.
static u8 refused_status(const core_terminate &term)
{
	if (is_access_error(term))
		return SRNIC_WC_REM_ACCESS_ERR;
	if (is(term, CORE_LAYER_RDMAP, 2) && has_header(term, false) &&
	    opcode_of(term) == CORE_MSG_ATOMIC_REQUEST)
		return SRNIC_WC_REM_OP_ERR;
	return SRNIC_WC_REM_INV_REQ_ERR;
}

// RFC 5040 4.8 recommends headers and does not demand them. Without them an unexpected opcode can
// only be that of an extension. siw sends none, and swaps layer and error type; the result has no
// other meaning in MPA's full operation (RFC 6581 8: insufficient IRD, at startup).
static bool is_unknown_operation(const core_terminate &term)
{
	constexpr u8 code = static_cast<u8>(OperationError::unexpected_opcode);

	return !term.has_ddp && term.code == code &&
	       (is(term, CORE_LAYER_RDMAP, 2) || is(term, CORE_LAYER_LLP, 0));
}

// The DDP header of the terminated segment names the request (figure 10). A Read Response or a
// Terminate of this end is not a request.
struct core_refusal core_terminate_refusal(const struct core_terminate *received)
{
	const core_terminate &term = *received;
	const u8 status = refused_status(term);

	if (is_unknown_operation(term))
		return {CORE_REFUSED_ATOMIC, SRNIC_WC_REM_OP_ERR, 0};
	if (term.layer != CORE_LAYER_RDMAP && term.layer != CORE_LAYER_DDP)
		return {CORE_REFUSED_NOTHING, 0, 0};
	if (is_local(term))
		return {CORE_REFUSED_NOTHING, 0, 0};
	if (is_on(term, Queue::read_request))
		return {CORE_REFUSED_READ, status, load<UntaggedHeader>(term.ddp).msn.host()};
	if (has_header(term, true) && opcode_of(term) == CORE_MSG_WRITE)
		return {CORE_REFUSED_WRITE, status, 0};
	return {CORE_REFUSED_NOTHING, 0, 0};
}

u32 core_terminate_build(const struct core_terminate *term, u8 out[CORE_TERM_MAX])
{
	u8 layer_etype = term->layer << 4 | (term->etype & 0x0f);
	u32 len = sizeof(TerminateHeader);

	store(out, TerminateHeader{layer_etype, term->code, header_control(*term), 0});
	if (term->has_ddp) {
		u32 header_len = min(u32{term->ddp_header_len}, u32{sizeof(term->ddp)});

		store(out + len, be<u16>::from_host(term->ddp_len));
		len += sizeof(be<u16>);
		__builtin_memcpy(out + len, term->ddp, header_len);
		len += header_len;
	}
	if (term->has_rdmap) {
		__builtin_memcpy(out + len, term->read_request, sizeof(term->read_request));
		len += sizeof(term->read_request);
	}
	return len;
}

// Rebuilds the headers: the request was one untagged segment, so they are known.
void core_terminate_read(const struct core_read_request *request, u32 msn, u32 sent,
			 enum core_region_verdict verdict, struct core_terminate *out)
{
	core_read_request left = *request;
	UntaggedHeader header = {DdpControl::make(false, true),
				 RdmapControl::make(CORE_MSG_READ_REQUEST).octet,
				 be<u32>::from_host(0),
				 be<u32>::from_host(static_cast<u32>(Queue::read_request)),
				 be<u32>::from_host(msn),
				 be<u32>::from_host(0)};

	left.sink_to += sent;
	left.source_to += sent;
	left.length -= sent;
	*out = terminate_of(region_error(Message::read_request, verdict_of(verdict)));
	out->has_ddp = out->has_rdmap = 1;
	out->ddp_header_len = sizeof(header);
	out->ddp_len = sizeof(header) + CORE_READ_REQUEST_LEN;
	store(out->ddp, header);
	store(out->read_request, encode(left));
}

// Ignores extra octets: RFC 5040 7.1 has senders that set absent headers to zero.
bool core_terminate_parse(const u8 *data, u32 len, struct core_terminate *out)
{
	Reader reader{data, len};
	TerminateHeader header{};
	core_terminate term{};

	if (!reader.take(&header, sizeof(header)))
		return false;
	term.layer = header.layer_etype >> 4;
	term.etype = header.layer_etype & 0x0f;
	term.code = header.code;
	if (!read_ddp_len(reader, header.header_control, term) ||
	    !read_ddp_header(reader, header.header_control, term) ||
	    !read_rdmap_header(reader, header.header_control, term))
		return false;
	*out = term;
	return true;
}
