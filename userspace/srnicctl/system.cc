// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// Files and processes of the machine, or of a test's root.
#include "system.hh"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <fstream>
#include <sstream>

namespace srnicctl {

bool exists(const System &system, const std::string &path)
{
	return !access((system.root + path).c_str(), F_OK);
}

bool accessible(const System &system, const std::string &path)
{
	return !access((system.root + path).c_str(), R_OK | W_OK);
}

bool writable_for_all(const System &system, const std::string &path)
{
	struct stat status;

	return !stat((system.root + path).c_str(), &status) && status.st_mode & S_IWOTH;
}

std::optional<std::string> first_line(const System &system, const std::string &path)
{
	std::ifstream file(system.root + path);
	std::string line;

	if (!file)
		return std::nullopt;
	std::getline(file, line);
	return file.bad() ? std::nullopt : std::optional(line);
}

std::optional<std::string> whole(const System &system, const std::string &path)
{
	std::ifstream file(system.root + path, std::ios::binary);
	std::ostringstream text;

	if (!file)
		return std::nullopt;
	text << file.rdbuf();
	return text.str();
}

int overwrite(const System &system, const std::string &path, const std::string &text)
{
	int fd = open((system.root + path).c_str(), O_WRONLY | O_TRUNC | O_CLOEXEC);
	ssize_t written;
	int error;

	if (fd < 0)
		return errno;
	written = write(fd, text.data(), text.size());
	error = written < 0 ? errno : 0;
	if (close(fd) && !error)
		error = errno;
	return error;
}

std::string program_of(const System &system, uint32_t pid)
{
	return first_line(system, "/proc/" + std::to_string(pid) + "/comm").value_or("");
}

} // namespace srnicctl
