# Completion of narwhal(8) for bash; the keys, and the words some of them take,
# are those of narwhal --help.
_narwhal()
{
	local line=${COMP_LINE:0:COMP_POINT} word program=$1 keys help value
	word=${line##*[[:space:]]}
	COMPREPLY=()
	case $word in
	--*=*)
		help=$("$program" --help 2>/dev/null)
		value=${help#*$'\n  '"${word%%=*}="}
		[[ $value != "$help" ]] || return 0
		value=${value%%$'\n'*}
		# readline has split the word behind the `=`
		word=${word#*=}
		case $value in
		*\|*)
			mapfile -t COMPREPLY < <(compgen -W "${value//|/ }" \
				-- "$word")
			;;
		APP | LIST | PATH)
			mapfile -t COMPREPLY < <(compgen -f -- "$word")
			;;
		esac
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
