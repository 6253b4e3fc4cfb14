// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * A kernel consumer of RDMA, for consumer.sh. Writing a line to /dev/srnic_consumer,
 *	CASE ROUNDS OCTETS FROM TO FD
 * runs a case, with buffers of OCTETS (whole pages), between the address FROM in the writer's
 * network namespace and TO in that of the open file FD. The write fails with EIO if the case
 * failed. Reading the device returns the report of the last case.
 */
#include <linux/inet.h>
#include <linux/miscdevice.h>
#include <linux/module.h>
#include <linux/nsproxy.h>
#include <net/net_namespace.h>

#include "consumer.h"

#define LINE_LENGTH 200

static DEFINE_MUTEX(busy);	/* one case at a time; the report */
static char report[PAGE_SIZE];
static size_t reported;

void say(const char *format, ...)
{
	va_list args;

	va_start(args, format);
	reported += vscnprintf(report + reported, sizeof(report) - reported, format, args);
	va_end(args);
}

const char *failed(const char *what, int err)
{
	if (!err)
		return NULL;
	say("%s: %d\n", what, err);
	return what;
}

static const struct scene_case *find_case(const char *name)
{
	const struct scene_case *const lists[] = { key_cases, queue_cases, context_cases };

	for (int i = 0; i < ARRAY_SIZE(lists); i++)
		for (const struct scene_case *at = lists[i]; at->name; at++)
			if (!strcmp(at->name, name))
				return at;
	return NULL;
}

/* Each round has a new connection. */
static const char *rounds(struct scene *s, const struct settings *settings,
			  const struct scene_case *which)
{
	const char *wrong = NULL;

	for (unsigned int round = 1; round <= settings->rounds && !wrong; round++) {
		wrong = scene_up(s, settings, which->polled) ?: which->play(s);
		scene_down(s);
		if (wrong)
			say("round %u\n", round);
	}
	return wrong;
}

static int run(const char *name, const struct settings *settings)
{
	const struct scene_case *which = find_case(name);
	const char *wrong;
	struct scene *s;

	if (!which && !reuse_knows(name) && !held_knows(name))
		return -EINVAL;
	s = kvmalloc(sizeof(*s), GFP_KERNEL);
	if (!s)
		return -ENOMEM;
	wrong = which ? rounds(s, settings, which) :
		held_knows(name) ? held_step(settings, name) : reuse(s, settings, name);
	kvfree(s);
	if (wrong)
		say("%s\n", wrong);
	return wrong ? -EIO : 0;
}

static int parse_and_run(const char *line)
{
	char name[32], from[48], to[48];
	struct settings settings = { };
	int fd, err;

	if (sscanf(line, "%31s %u %u %47s %47s %d", name, &settings.rounds, &settings.octets, from,
		   to, &fd) != 6 ||
	    !settings.octets || settings.octets % PAGE_SIZE)
		return -EINVAL;
	settings.net = current->nsproxy->net_ns;
	settings.peer_net = get_net_ns_by_fd(fd);
	if (IS_ERR(settings.peer_net))
		return PTR_ERR(settings.peer_net);
	err = inet_pton_with_scope(settings.net, AF_UNSPEC, from, NULL, &settings.from) ?:
	      inet_pton_with_scope(settings.peer_net, AF_UNSPEC, to, NULL, &settings.to) ?:
	      run(name, &settings);
	put_net(settings.peer_net);
	return err;
}

/* The position does not move: a read after a write starts at the report's beginning. */
static ssize_t consumer_write(struct file *file, const char __user *from, size_t len, loff_t *pos)
{
	char *line;
	int err;

	if (len > LINE_LENGTH)
		return -EINVAL;
	line = memdup_user_nul(from, len);
	if (IS_ERR(line))
		return PTR_ERR(line);
	mutex_lock(&busy);
	reported = 0;
	err = parse_and_run(line);
	mutex_unlock(&busy);
	kfree(line);
	return err ?: len;
}

static ssize_t consumer_read(struct file *file, char __user *to, size_t len, loff_t *pos)
{
	ssize_t ret;

	mutex_lock(&busy);
	ret = simple_read_from_buffer(to, len, pos, report, reported);
	mutex_unlock(&busy);
	return ret;
}

static const struct file_operations consumer_fops = {
	.owner = THIS_MODULE,
	.read = consumer_read,
	.write = consumer_write,
};

static struct miscdevice consumer = {
	.minor = MISC_DYNAMIC_MINOR,
	.name = "srnic_consumer",
	.fops = &consumer_fops,
	.mode = 0600,
};

static int __init consumer_init(void)
{
	return misc_register(&consumer);
}

static void __exit consumer_exit(void)
{
	misc_deregister(&consumer);
	held_free();
}

module_init(consumer_init);
module_exit(consumer_exit);

MODULE_DESCRIPTION("A consumer of RDMA in the kernel, for tests");
MODULE_LICENSE("Dual BSD/GPL");
