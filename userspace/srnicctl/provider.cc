// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// Checks of `srnicctl doctor`: does libibverbs find srnic's provider? Its file name has the version
// of libibverbs' private interface, which is that of its version symbols.
#include "doctor.hh"
#include "text.hh"

#include <algorithm>
#include <sstream>

#if !defined(SRNIC_LIBDIR) || !defined(SRNIC_SYSCONFDIR) || !defined(SRNIC_MULTIARCH)
#error "the directories that the provider is installed in, and libibverbs is (sources.mk)"
#endif

namespace srnicctl {
namespace {

constexpr const char *driver_file = SRNIC_SYSCONFDIR "/libibverbs.d/srnic.driver";

// That of the build first; then that of the distribution's libibverbs, which may be another.
constexpr const char *library_dirs[] = {
	SRNIC_LIBDIR,	  "/usr/lib/" SRNIC_MULTIARCH, "/usr/lib64", "/usr/lib", "/lib64",
	"/usr/local/lib",
};

struct Libibverbs {
	std::string dir;
	std::string private_abi; // digits, or ""
};

std::string digits_at(const std::string &text, size_t at)
{
	size_t end = text.find_first_not_of("0123456789", at);

	return text.substr(at, end == std::string::npos ? end : end - at);
}

std::string private_abi_of(const std::string &library)
{
	const std::string name = "IBVERBS_PRIVATE_";

	for (size_t at = 0; (at = library.find(name, at)) != std::string::npos;) {
		at += name.size();
		if (std::string digits = digits_at(library, at); !digits.empty())
			return digits;
	}
	return "";
}

std::optional<Libibverbs> find_libibverbs(const System &system)
{
	for (const char *dir : library_dirs)
		if (auto library = whole(system, std::string(dir) + "/libibverbs.so.1"))
			return Libibverbs{dir, private_abi_of(*library)};
	return std::nullopt;
}

bool names_srnic(const std::string &driver)
{
	std::istringstream lines(driver);
	std::string first, second;

	for (std::string line; std::getline(lines, line);) {
		std::istringstream words(line);

		if (words >> first >> second && first == "driver" && second == "srnic")
			return true;
	}
	return false;
}

} // namespace

Finding check_provider(System &system)
{
	auto libibverbs = find_libibverbs(system);

	if (!libibverbs)
		return {Level::warn, "provider", "libibverbs is not installed",
			"install it (Debian: libibverbs1), if programs shall use RDMA"};
	if (libibverbs->private_abi.empty())
		return {Level::fail, "provider",
			libibverbs->dir + "/libibverbs.so.1 does not show its private interface",
			"install libibverbs again"};

	std::string path =
		libibverbs->dir + "/libibverbs/libsrnic-rdmav" + libibverbs->private_abi + ".so";

	if (!exists(system, path))
		return {Level::fail, "provider",
			path + " is missing, so programs find no srnic device",
			"build the provider for the installed rdma-core: "
			"userspace/prepare-rdma-core, make, make install LIBDIR=" +
				libibverbs->dir +
				"; or make deb, and install libsrnic1"};
	return {Level::ok, "provider", path};
}

Finding check_driver_file(System &system)
{
	auto driver = whole(system, driver_file);

	if (driver && names_srnic(*driver))
		return {Level::ok, "driver file", driver_file};
	return {Level::fail, "driver file",
		std::string(driver_file) + (driver ? " does not name srnic" : " is missing") +
			", so libibverbs does not load the provider",
		"make -C userspace install, or install libsrnic1"};
}

} // namespace srnicctl
