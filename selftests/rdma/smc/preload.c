// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* Makes TCP sockets of a program that has this preloaded sockets of SMC. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <netinet/in.h>
#include <sys/socket.h>

#define AF_SMC 43
#define SOCKET_TYPE 0xf /* the rest are flags */

typedef int socket_fn(int family, int type, int protocol);

int socket(int family, int type, int protocol)
{
	socket_fn *next = dlsym(RTLD_NEXT, "socket");
	int is_tcp = (type & SOCKET_TYPE) == SOCK_STREAM &&
		     (protocol == 0 || protocol == IPPROTO_TCP);

	if (family == AF_INET && is_tcp)
		return next(AF_SMC, type, 0); /* protocol: of IPv4 */
	if (family == AF_INET6 && is_tcp)
		return next(AF_SMC, type, 1);
	return next(family, type, protocol);
}
