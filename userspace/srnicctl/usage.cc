// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// Tables of the commands and options, and their lines.
#include "usage.hh"

#include "options.hh"
#include "text.hh"

#include <algorithm>

namespace srnicctl {
namespace {

struct CommandText {
	const char *name, *arguments, *text;
};

constexpr CommandText commands[] = {
	{"show", "[DEVICE]", "devices, settings and connections"},
	{"top", "[DEVICE]", "rates of devices and connections"},
	{"get", "DEVICE [SETTING]", "a setting, or all for a file of srnic@.service"},
	{"set", "DEVICE SETTING VALUE [SETTING VALUE...]", "for connections made from now on"},
	{"doctor", "[DEVICE]", "what is wrong, and what to do"},
	{"help", "[COMMAND]", "this text, or that of a command"},
};

struct OptionText {
	const char *name, *text;
	const char *command; // nullptr: all
};

constexpr OptionText options[] = {
	{"-j, --json", "JSON instead of text", nullptr},
	{"-p, --pretty", "JSON with line breaks", nullptr},
	{"-s, --short", "a line for each QP", "show"},
	{"    --peer=ADDRESS", "only QPs with this peer; the port may be left out", "show"},
	{"    --pid=PID", "only what this process has", "show"},
	{"    --qp=NUMBER", "only this QP", "show"},
	{"-b, --batch", "does not clear the screen", "top"},
	{"-n, --iterations=N", "ends after N times", "top"},
	{"-d, --delay=SECONDS", "time between two of them (1)", "top"},
	{"-h, --help", "this text", nullptr},
	{"-V, --version", "the version", nullptr},
};

// The text begins in this column, in another line if need be.
std::string line(std::string left, const std::string &text, size_t column)
{
	left = "  " + left;
	if (left.size() + 2 > column)
		left += "\n" + std::string(column, ' ');
	else
		left.resize(column, ' ');
	return left + text + "\n";
}

std::string line_of(const CommandText &command)
{
	return line(std::string(command.name) + " " + command.arguments, command.text, 29);
}

// all: in the list of all commands, so the text names the option's.
std::string line_of(const OptionText &option, bool all)
{
	std::string whose = all && option.command ? option.command + std::string(": ") : "";

	return line(option.name, whose + option.text, 24);
}

std::string lines_of_options(const std::string &command)
{
	std::string lines = "options:\n";

	for (const OptionText &option : options)
		if (command.empty() || !option.command || command == option.command)
			lines += line_of(option, command.empty());
	return lines;
}

} // namespace

std::string usage(const std::string &name)
{
	std::string text = "usage: srnicctl [OPTION...] ";

	if (name.empty()) {
		text += "COMMAND\n";
		for (const CommandText &command : commands)
			text += line_of(command);
		return text + lines_of_options("");
	}
	for (const CommandText &command : commands)
		if (command.name == name)
			return text + command.name + " " + command.arguments + "\n  " +
			       command.text + "\n" + lines_of_options(name);
	wrong("there is no command " + clean(name));
}

std::string command_names()
{
	std::vector<std::string> names;

	for (const CommandText &command : commands)
		names.push_back(command.name);
	std::string last = names.back();

	names.pop_back();
	return joined(names, ", ") + " or " + last;
}

} // namespace srnicctl
