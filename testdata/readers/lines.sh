# Prints, for each way of reading lines: its name, how many lines equal BEGIN, how many equal END.
export LC_ALL=C.UTF-8
b=0 e=0
while IFS= read -r line || [ -n "$line" ]; do
	[ "$line" = "$2" ] && b=$((b + 1))
	[ "$line" = "$3" ] && e=$((e + 1))
done < "$1"
printf 'bash read\t%d\t%d\n' "$b" "$e"
printf 'grep -x\t%d\t%d\n' "$(grep -cxF -- "$2" "$1")" "$(grep -cxF -- "$3" "$1")"
printf 'awk\t%d\t%d\n' "$(awk -v m="$2" '$0 == m { n++ } END { print n+0 }' "$1")" "$(awk -v m="$3" '$0 == m { n++ } END { print n+0 }' "$1")"
printf 'sed\t%d\t%d\n' "$(sed -n "\|^$2\$|p" "$1" | grep -c "")" "$(sed -n "\|^$3\$|p" "$1" | grep -c "")"
printf 'tr and sort\t%d\t%d\n' "$(tr '\r\v\f' '\n\n\n' < "$1" | sort | grep -cxF -- "$2")" "$(tr '\r\v\f' '\n\n\n' < "$1" | sort | grep -cxF -- "$3")"
