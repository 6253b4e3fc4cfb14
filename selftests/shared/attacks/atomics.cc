// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// Atomic Requests and Responses (RFC 7306 5.2.1, 5.2.2, 8.2): what is refused changes no word, and
// returns none.
#include "rows.hh"

namespace attacks {
namespace {

// The regions begin somewhere inside a word.
u64 first_word(const Region &region) { return (region.to + 7) & ~u64{7}; }

Bytes little(u64 value)
{
	Bytes out = be64(value);

	return Bytes(out.rbegin(), out.rend());
}

Build atomic_on(const char *name, u64 offset = 0, u32 code = fetch_add)
{
	return [=](const Scene &s) {
		AtomicRequest request = {
			.code = code, .stag = s[name].stag, .to = first_word(s[name]) + offset};

		return Attack{{fpdu(atomic_request(request))}};
	};
}

Build request(auto change)
{
	return [=](const Scene &s) {
		AtomicRequest one = {.stag = s["atomic"].stag, .to = first_word(s["atomic"])};

		return Attack{{fpdu(with(atomic_request(one), change))}};
	};
}

Build at_end(u64 before_end)
{
	return [=](const Scene &s) {
		AtomicRequest one = {.stag = s["atomic"].stag,
				     .to = s["atomic"].end() - before_end};

		return Attack{{fpdu(atomic_request(one))}};
	};
}

// A Write of `before` to a word, then atomic operations on it, and their responses.
struct Step {
	AtomicRequest request;
	u64 original;
};

Build answered(u64 before, std::vector<Step> steps, u64 after)
{
	return [=](const Scene &s) {
		const Region &region = s["atomic"];
		const u64 word = first_word(region);
		Attack attack;
		u32 msn = 0;

		attack.fpdus = {
			fpdu(Tagged{.stag = region.stag, .to = word, .data = little(before)})};
		for (Step step : steps) {
			step.request.stag = region.stag;
			step.request.to = word;
			step.request.id += ++msn;
			attack.fpdus.push_back(fpdu(atomic_request(step.request, msn)));
			attack.answer = attack.answer +
					fpdu(atomic_response(step.request.id, step.original, msn));
		}
		attack.lands = {{word, little(after)}};
		return attack;
	};
}

// Four reads fill the places that were negotiated while the victim cannot answer, because our
// window is closed.
Attack beyond_ird(const Scene &s)
{
	Attack out;

	for (u32 msn = 1; msn <= 4; msn++) {
		ReadRequest read = {.length = static_cast<u32>(s["both"].length),
				    .source_stag = s["both"].stag,
				    .source_to = s["both"].to};
		out.fpdus.push_back(fpdu(read_request(read, msn)));
	}
	AtomicRequest request = {.stag = s["atomic"].stag, .to = first_word(s["atomic"])};
	out.fpdus.push_back(fpdu(atomic_request(request, 5)));
	return out;
}

Attack behind_a_refused_one(const Scene &s)
{
	AtomicRequest bad = {.stag = s["both"].stag, .to = first_word(s["both"])};
	AtomicRequest good = {.stag = s["atomic"].stag, .to = first_word(s["atomic"])};

	return {{fpdu(atomic_request(bad)), fpdu(atomic_request(good, 2))}, 0};
}

// ---- responses: the victim adds ----

Build responds(auto change)
{
	return [=](const Scene &s) {
		Untagged segment = atomic_response(s.atomics.at(0), 0x1122334455667788);

		return Attack{{fpdu(with(segment, change))}};
	};
}

// The original value of the first addition is in the sink.
Build then_responds(auto change)
{
	return [=](const Scene &s) {
		Untagged good = atomic_response(s.atomics.at(0), 7);
		Untagged bad = atomic_response(s.atomics.at(0), 8, 2);

		return Attack{
			{fpdu(good), fpdu(with(bad, change))}, 1, {{s["sink"].to, little(7)}}};
	};
}

} // namespace

std::vector<Row> atomic_request_rows()
{
	const u64 ones = ~u64{0};
	std::vector<Row> rows = {
		{"RFC 7306 5.1: FetchAdd and CmpSwap return the original value, in order", accepted,
		 answered(0x1122334455667788,
			  {{{.code = fetch_add, .data = 0x10}, 0x1122334455667788},
			   {{.code = cmp_swap, .data = 9, .mask = ones, .compare = 1},
			    0x1122334455667798},
			   {{.code = cmp_swap,
			     .data = 9,
			     .mask = ones,
			     .compare = 0x1122334455667798},
			    0x1122334455667798}},
			  9)},
		{"RFC 7306 5.1.1: nothing is carried out of a field of the Add Mask", accepted,
		 answered(0x00ff00ff00ff00ff,
			  {{{.data = 0x0001000100010001, .mask = 0x0080008000800080},
			    0x00ff00ff00ff00ff}},
			  0)},
		{"RFC 7306 5.1.2: bits outside the masks are neither compared nor swapped",
		 accepted,
		 answered(0x1111222233334444,
			  {{{.code = cmp_swap,
			     .data = ones,
			     .mask = 0xf0,
			     .compare = 0x4400,
			     .compare_mask = 0xff00},
			    0x1111222233334444}},
			  0x11112222333344f4)},
		{"RFC 7306 5.2.1: the reserved bits before the AOpCode are ignored", accepted,
		 answered(1, {{{.code = 0xfffffff0, .data = 1}, 1}}, 2)},
		{"RFC 7306 figure 5: the AOpCode is valid: 1, the older draft's Swap", operation(6),
		 atomic_on("atomic", 0, swap_always)},
		{"RFC 7306 figure 5: the AOpCode is valid: 3", operation(6),
		 atomic_on("atomic", 0, 3)},
		{"RFC 7306 figure 5: the AOpCode is valid: 15", operation(6),
		 atomic_on("atomic", 0, 15)},
		{"RFC 7306 figure 4: an Atomic Request has 52 octets: 51", operation(0xff),
		 request([](Untagged &u) { u.data.pop_back(); })},
		{"RFC 7306 figure 4: an Atomic Request has 52 octets: 0", operation(0xff),
		 request([](Untagged &u) { u.data.clear(); })},
		{"RFC 7306 figure 4: an Atomic Request has 52 octets: 53", untagged(5),
		 request([](Untagged &u) { u.data.push_back(0); })},
		{"RFC 7306 figure 4: an Atomic Request has 52 octets: 1400", untagged(5),
		 request([](Untagged &u) { u.data = payload(1400); })},
		{"RFC 7306 5.2.1: an Atomic Request is one segment: L is not set", operation(0xff),
		 request([](Untagged &u) { u.ddp = more_untagged; })},
		{"RFC 5041 7.1, 5: the MSN of an Atomic Request is in the range: 0", untagged(3),
		 request([](Untagged &u) { u.msn = 0; })},
		{"RFC 5041 7.1, 5: the MSN of an Atomic Request is in the range: one was left out",
		 untagged(3), request([](Untagged &u) { u.msn = 2; })},
		{"RFC 5041 7.1, 3: the MO of an Atomic Request is in the range", untagged(4),
		 request([](Untagged &u) { u.mo = 52; })},
		{"RFC 7306 figure 2: an Atomic Request is on queue 1, not 0", operation(6),
		 request([](Untagged &u) { u.qn = 0; })},
		{"RFC 7306 figure 2: an Atomic Request is on queue 1, not 3", operation(6),
		 request([](Untagged &u) { u.qn = 3; })},
		{"RFC 7306 figure 2: an Atomic Request is untagged", operation(6),
		 to_both(0xc1, op_atomic_request)},
		{"RFC 7306 5.2.1: the STag is valid: never given out", atomic(0),
		 fpdu(atomic_request({.stag = nobody}))},
		{"RFC 7306 5.2.1: the STag is valid: given back", atomic(0), atomic_on("stale")},
		{"RFC 7306 5.2.1: the STag is of this stream's protection domain", atomic(3),
		 atomic_on("foreign")},
		{"RFC 7306 5.2.1: the region allows atomic operations: not one to read and write",
		 atomic(2), atomic_on("both")},
		{"RFC 7306 5.2.1: the region allows atomic operations: not one for nobody remote",
		 atomic(2), atomic_on("private")},
		{"RFC 7306 5.2.1: the word is in the region: half of it before", atomic(1),
		 atomic_on("atomic", ~u64{7})},
		{"RFC 7306 5.2.1: the word is in the region: half of it behind", atomic(1),
		 at_end(4)},
		{"RFC 7306 5.2.1: the word is in the region: at its end", atomic(1), at_end(0)},
		{"RFC 7306 5.2.1: the word does not wrap", atomic(4),
		 [](const Scene &s) {
			 AtomicRequest one = {.stag = s["atomic"].stag, .to = nowhere};

			 return Attack{{fpdu(atomic_request(one))}};
		 }},
		{"RFC 7306 5.4: what comes behind a refused request is not executed", atomic(2),
		 behind_a_refused_one},
		{"RFC 7306 5.2.1: reads and atomic operations share the places of the IRD",
		 untagged(2),
		 beyond_ird,
		 {.responses = true, .window = 4096}},
	};

	for (u64 offset : {1, 2, 4, 7})
		rows.push_back({"RFC 7306 8.2: the word is aligned: by " + std::to_string(offset),
				operation(7), atomic_on("atomic", offset)});
	return rows;
}

std::vector<Row> atomic_response_rows()
{
	More adding = {.atomics = 1}, done = {.atomics = 1, .reads_done = 1},
	     half_done = {.atomics = 2, .reads_done = 1};
	auto nothing = [](Untagged &) {};

	return {
		{"RFC 7306 5.2.2: the original value is delivered", accepted,
		 [](const Scene &s) {
			 return Attack{{fpdu(atomic_response(s.atomics.at(0), 0x1122334455667788))},
				       the_last,
				       {{s["sink"].to, little(0x1122334455667788)}}};
		 },
		 done},
		{"RFC 7306 5.2.2: an Atomic Response answers an Atomic Request", operation(6),
		 fpdu(atomic_response(1, 2))},
		{"RFC 7306 5.2.2: and not a Read Request",
		 operation(6),
		 fpdu(atomic_response(1, 2)),
		 {.reads = {64}}},
		{"RFC 7306 5.2.2: a Read Response does not answer an Atomic Request", tagged(0),
		 [](const Scene &s) {
			 return Attack{{fpdu(Tagged{.rdmap = op_read_response,
						    .stag = s.atomics.at(0),
						    .data = payload(8)})}};
		 },
		 adding},
		{"RFC 7306 5.2.2: an empty Read Response does not answer one either", operation(6),
		 [](const Scene &s) {
			 return Attack{{fpdu(
				 Tagged{.rdmap = op_read_response, .stag = s.atomics.at(0)})}};
		 },
		 adding},
		{"RFC 7306 5.2.2: responses come in the order of the requests",
		 operation(6),
		 [](const Scene &s) { return Attack{{fpdu(atomic_response(s.atomics.at(1), 2))}}; },
		 {.atomics = 2}},
		{"RFC 7306 5.2.2: the Request Identifier is the request's", operation(6),
		 responds([](Untagged &u) { u.data[3] ^= 1; }), adding},
		{"RFC 7306 5.2.2: a request is answered once", operation(6), then_responds(nothing),
		 done},
		{"RFC 7306 5.2.2: nor does the answer to one request answer the next", operation(6),
		 then_responds(nothing), half_done},
		{"RFC 7306 figure 6: an Atomic Response has 12 octets: 11", operation(0xff),
		 responds([](Untagged &u) { u.data.pop_back(); }), adding},
		{"RFC 7306 figure 6: an Atomic Response has 12 octets: 13", untagged(5),
		 responds([](Untagged &u) { u.data.push_back(0); }), adding},
		{"RFC 7306 5.2.2: an Atomic Response is one segment: L is not set", operation(0xff),
		 responds([](Untagged &u) { u.ddp = more_untagged; }), adding},
		{"RFC 5041 7.1, 5: the MSN of queue 3 is in the range: 0", untagged(3),
		 responds([](Untagged &u) { u.msn = 0; }), adding},
		{"RFC 5041 7.1, 5: the MSN of queue 3 is in the range: one was left out",
		 untagged(3), responds([](Untagged &u) { u.msn = 2; }), adding},
		{"RFC 5041 7.1, 3: the MO of queue 3 is in the range", untagged(4),
		 responds([](Untagged &u) { u.mo = 12; }), adding},
		{"RFC 7306 figure 2: an Atomic Response is on queue 3, not 1", operation(6),
		 responds([](Untagged &u) { u.qn = 1; }), adding},
		{"RFC 7306 figure 2: an Atomic Response is untagged", operation(6),
		 to_both(0xc1, op_atomic_response), adding},
	};
}

} // namespace attacks
