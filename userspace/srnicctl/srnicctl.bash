# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
# Completion of srnicctl(8) for bash.
# shellcheck shell=bash

# The value that the setting takes.
_srnicctl_values() { # SETTING
	case $1 in
	framing) printf '%s\n' mpa rdmatcp any ;;
	mpa_crc | mpa_markers | mpa_large_fpdus | rdmap_swap | local_shortcut) printf '%s\n' 0 1 ;;
	peer_timeout) printf '%s\n' 0 60 ;;
	esac
}

# Words of the command line before the current one that are no options and no options' values. Bash takes --delay=2 for
# three words.
_srnicctl_arguments() {
	local i
	for ((i = 1; i < COMP_CWORD; i++)); do
		case ${COMP_WORDS[i]} in
		-n | -d | --iterations | --delay)
			((i++))
			[ "${COMP_WORDS[i]}" != "=" ] || ((i++))
			;;
		-*) ;;
		*) echo "${COMP_WORDS[i]}" ;;
		esac
	done
}

# One a line.
_srnicctl_choices() { # ARGUMENT...
	local devices settings=(framing mpa_crc mpa_markers mpa_large_fpdus rdmap_swap local_shortcut peer_timeout port_map)
	devices=$(srnicctl show -j 2>/dev/null | grep -o '"ifname":"[^"\\]*"' | cut -d '"' -f 4)
	case $#:$1 in
	0:) printf '%s\n' show top set doctor ;;
	1:show | 1:top | 1:set | 1:doctor) echo "$devices" ;;
	*:set) if (($# % 2 == 0)); then printf '%s\n' "${settings[@]}"; else _srnicctl_values "${!#}"; fi ;;
	esac
}

# Not by compgen -W: that expands what it gets, and a device may have any name.
_srnicctl() {
	local current=${COMP_WORDS[COMP_CWORD]} choices arguments choice
	mapfile -t arguments < <(_srnicctl_arguments)
	case $current in
	-*) choices=(--json --pretty --batch --iterations --delay --help --version) ;;
	*) mapfile -t choices < <(_srnicctl_choices "${arguments[@]}") ;;
	esac
	COMPREPLY=()
	for choice in "${choices[@]}"; do
		[[ -z $choice || $choice != "$current"* ]] || COMPREPLY+=("$(printf %q "$choice")")
	done
}

complete -F _srnicctl srnicctl
