# Completion of narwhal(8) for bash; the keys are those of narwhal --help.
_narwhal()
{
	local line=${COMP_LINE:0:COMP_POINT} word program=$1 keys
	word=${line##*[[:space:]]}
	COMPREPLY=()
	case $word in
	--*=*)
		# readline has split the word behind the `=`
		mapfile -t COMPREPLY < <(compgen -f -- "${word#*=}")
		;;
	-*)
		keys=$("$program" --help 2>/dev/null |
			sed -n 's/^  \(--[a-z-]*=\).*/\1/p')
		mapfile -t COMPREPLY < <(compgen -W "$keys --config
			--check-config --print-config --help --version" \
			-- "$word")
		[[ ${COMPREPLY[0]} != *= ]] || compopt -o nospace 2>/dev/null
		;;
	*)
		mapfile -t COMPREPLY < <(compgen -f -- "$word")
		;;
	esac
}
complete -F _narwhal narwhal
