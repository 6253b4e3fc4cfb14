// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// Writes JSON (RFC 8259) in ASCII. The caller opens and closes what it writes in pairs.
#pragma once

#include <cstdint>
#include <ostream>
#include <string>
#include <string_view>
#include <vector>

namespace srnicctl {

// Of everything that is printed: a field "format". It changes with what a field means, or when one
// goes; new fields do not change it. Documented in srnicctl(8).
constexpr uint64_t json_format = 1;

class Json {
public:
	// pretty: one member a line, indented.
	Json(std::ostream &stream, bool with_lines) : out(stream), pretty(with_lines) {}

	// The key is for members of objects only.
	void open_array(std::string_view key = {}) { open(key, '['); }
	void open_object(std::string_view key = {}) { open(key, '{'); }
	// The whole of an output: an object with the format and this member.
	void open_document(std::string_view key, char bracket = '[');
	void close_document();
	// Closes the innermost one; after the outermost comes a newline.
	void close();

	// Octets that are not UTF-8 become U+FFFD.
	void text(std::string_view key, std::string_view value);
	void number(std::string_view key, uint64_t value);
	// Rounded to three decimals.
	void real(std::string_view key, double value);
	void flag(std::string_view key, bool value);

private:
	void open(std::string_view key, char bracket);
	void begin(std::string_view key);
	void new_line();
	void quote(std::string_view value);

	std::ostream &out;
	bool pretty;
	bool first = true;	   // of the innermost one's members
	std::vector<char> closers; // of what is open
};

} // namespace srnicctl
