# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
# Builds the programs of these tests from objects, with dependencies. Included at the end of a Makefile that has set
# HERE, O and CXX_ALL.

$(O)/%.o: $(HERE)%.cc | $(O)
	$(CXX_ALL) -c -o $@ $<

$(O):
	@mkdir -p $@

clean:
	rm -rf $(O)

-include $(wildcard $(O)/*.d)
.PHONY: all clean
.DELETE_ON_ERROR:
