# As lines.py, for what a shell has: the name of each tool that is here is the way.
export LC_ALL=C.UTF-8
cd "$1"
index='NR == FNR { at[$0] = FNR; next } $0 != "" { printf "%s%d", sep, at[$0]; sep = "," } END { print "" }'
# A tool that prints its lines with something in front of each: what it takes for more lines has it in the middle.
marked='NR == FNR { at[$0] = FNR; next } { if (!sub(/^ *[0-9]*[>:\t]/, "")) $0 = "none" } $0 != "" { printf "%s%d", sep, at[$0]; sep = "," } END { print "" }'
filter() {
	local way=$1
	shift
	printf '%s\t%s\t%s\n' "$name" "$way" "$("$@" < "$name.text" | awk "$marked" "$name.lines" -)"
}
have() { command -v "${1%% *}" > /dev/null; }
mapped() {
	local line lines
	mapfile -t lines
	for line in "${lines[@]}"; do printf '>%s\n' "$line"; done
}
edited() {
	vim -Nu NONE -i NONE -n -es -c 'set encoding=utf-8 fileencodings=utf-8' -c "view $name.text" -c '%s/^/>/' -c 'w! edited' -c 'qa!' < /dev/null > /dev/null
	cat edited
}
loop='while IFS= read -r line || [ -n "$line" ]; do printf ">%s\n" "$line"; done'
for text in *.text; do
	name=${text%.text}
	for awk in gawk mawk original-awk 'busybox awk'; do
		have "$awk" && printf '%s\t%s\t%s\n' "$name" "$awk" "$($awk "$index" "$name.lines" "$text")"
	done
	for shell in bash dash zsh ksh 'busybox sh'; do
		have "$shell" && filter "$shell read" $shell -c "$loop"
	done
	filter 'bash mapfile' mapped
	filter sed sed 's/^/>/'
	have busybox && filter 'busybox sed' busybox sed 's/^/>/'
	filter grep grep -an ''
	LC_ALL=C filter 'grep in the C locale' grep -an ''
	grep -qP x <<< x 2> /dev/null && filter 'grep -P' grep -anP '^'
	filter 'cat -n' cat -n
	have jq && filter 'jq -R' jq -Rr '">" + .'
	have vim && filter vim edited
	printf '%s\twc -l\t#%d\n' "$name" "$(wc -l < "$text")"
done
