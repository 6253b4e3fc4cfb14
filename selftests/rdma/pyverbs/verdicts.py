#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
# Runs unittest modules based on rdma-core's tests package. Prints one line after each case's output: "pass NAME", "fail
# NAME" or "skip NAME REASON"; at the end "done". Arguments: the directory above tests/, the device, modules.
import os
import sys
import traceback
import unittest


def say(*words):
    # flushed: cases fork
    print(*words, flush=True)


class Verdicts(unittest.TestResult):
    def startTest(self, test):
        super().startTest(test)
        self.verdict, self.reason = 'pass', ''

    def stopTest(self, test):
        super().stopTest(test)
        say(self.verdict, short(test), self.reason)

    def addSkip(self, test, reason):
        super().addSkip(test, reason)
        if self.verdict == 'pass':
            self.verdict, self.reason = 'skip', ' '.join(reason.split())

    def addError(self, test, err):
        super().addError(test, err)
        say(''.join(traceback.format_exception(*err)))
        self.verdict, self.reason = 'fail', ''
        if not isinstance(test, unittest.TestCase):
            say('fail', test)  # of a class or module: no stopTest() comes

    def addFailure(self, test, err):
        self.addError(test, err)

    def addSubTest(self, test, subtest, err):
        if err:
            self.addError(test, err)


def short(test):
    return test.id().removeprefix('tests.')


def main(above, device, *modules):
    sys.path[:0] = [above, os.path.join(above, 'tests')]
    sys.argv[1:] = ['--dev', device]
    from args_parser import parser
    parser.parse_args()
    suite = unittest.defaultTestLoader.loadTestsFromNames(modules)
    suite.run(Verdicts())
    say('done')


main(*sys.argv[1:])
