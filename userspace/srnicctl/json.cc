// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// Commas and line breaks between members, and the escapes of strings.
#include "json.hh"

#include <cmath>
#include <cstdio>

namespace srnicctl {
namespace {

constexpr uint32_t replacement = 0xfffd;

struct Character {
	uint32_t code;
	size_t octets;
};

// The tail's length of a character that begins with this octet; 0: it begins none.
size_t tail_of(uint8_t first)
{
	if (first >= 0xc2 && first <= 0xdf)
		return 1;
	if (first >= 0xe0 && first <= 0xef)
		return 2;
	return first >= 0xf0 && first <= 0xf4 ? 3 : 0;
}

bool allowed(uint32_t code, size_t tail)
{
	static const uint32_t least[] = {0, 0x80, 0x800, 0x10000};

	return code >= least[tail] && code <= 0x10ffff && (code < 0xd800 || code > 0xdfff);
}

// RFC 3629. The text is not empty.
Character decode(std::string_view text)
{
	uint8_t first = static_cast<uint8_t>(text[0]);
	size_t tail = tail_of(first);
	uint32_t code = first & (0x3fu >> tail);

	if (first < 0x80)
		return {first, 1};
	if (!tail || text.size() <= tail)
		return {replacement, 1};
	for (size_t i = 1; i <= tail; i++) {
		uint8_t next = static_cast<uint8_t>(text[i]);

		if ((next & 0xc0) != 0x80)
			return {replacement, 1};
		code = code << 6 | (next & 0x3f);
	}
	return allowed(code, tail) ? Character{code, tail + 1} : Character{replacement, 1};
}

std::string escape(uint32_t unit)
{
	char text[8];

	snprintf(text, sizeof(text), "\\u%04x", static_cast<unsigned int>(unit & 0xffff));
	return text;
}

std::string escaped(uint32_t code)
{
	if (code == '"' || code == '\\')
		return {'\\', static_cast<char>(code)};
	if (code >= ' ' && code <= '~')
		return {static_cast<char>(code)};
	if (code < 0x10000)
		return escape(code);
	return escape(0xd800 + ((code - 0x10000) >> 10)) + escape(0xdc00 + (code & 0x3ff));
}

} // namespace

void Json::quote(std::string_view value)
{
	out << '"';
	while (!value.empty()) {
		Character c = decode(value);

		out << escaped(c.code);
		value.remove_prefix(c.octets);
	}
	out << '"';
}

void Json::new_line()
{
	if (pretty)
		out << '\n' << std::string(4 * closers.size(), ' ');
}

void Json::begin(std::string_view key)
{
	if (!first)
		out << ',';
	first = false;
	if (!closers.empty())
		new_line();
	if (key.empty())
		return;
	quote(key);
	out << (pretty ? ": " : ":");
}

void Json::open(std::string_view key, char bracket)
{
	begin(key);
	out << bracket;
	closers.push_back(bracket == '[' ? ']' : '}');
	first = true;
}

void Json::close()
{
	char closer = closers.back();

	closers.pop_back();
	if (!first)
		new_line();
	out << closer;
	first = closers.empty();
	if (closers.empty())
		out << '\n';
}

void Json::open_document(std::string_view key, char bracket)
{
	open_object();
	number("format", json_format);
	open(key, bracket);
}

void Json::close_document()
{
	close();
	close();
}

void Json::text(std::string_view key, std::string_view value)
{
	begin(key);
	quote(value);
}

void Json::number(std::string_view key, uint64_t value)
{
	begin(key);
	out << value;
}

void Json::real(std::string_view key, double value)
{
	char text[64];

	snprintf(text, sizeof(text), "%.3f", std::isfinite(value) ? value : 0);
	begin(key);
	out << text;
}

void Json::flag(std::string_view key, bool value)
{
	begin(key);
	out << (value ? "true" : "false");
}

} // namespace srnicctl
