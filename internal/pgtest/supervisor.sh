# Owns one throw-away PostgreSQL: $1 is the folder of its binaries, $2 the
# folder that holds all of it. Obeys one word a line and answers each with an
# exit status. When its input ends, as it does when whoever holds the other end
# of the pipe is gone for whatever reason, the server is stopped and the folder removed.
#
# Everything that writes to the folder runs from here, one after the other, so
# nothing is left to write when it is removed.
trap '' HUP INT PIPE TERM
bin=$1 dir=$2
while read -r word; do
	case $word in
	init)
		"$bin/initdb" -D "$dir/data" -U postgres -E UTF8 --no-locale --no-sync \
			--auth-local=trust --auth-host=scram-sha-256 --pwfile="$dir/password"
		;;
	start)
		"$bin/pg_ctl" -D "$dir/data" -l "$dir/log" -s -w -t 60 start
		;;
	fast | immediate)
		! "$bin/pg_ctl" -D "$dir/data" status ||
			"$bin/pg_ctl" -D "$dir/data" -m "$word" -s -w -t 60 stop
		;;
	*)
		false
		;;
	esac </dev/null >>"$dir/log" 2>&1
	echo $?
done
"$bin/pg_ctl" -D "$dir/data" -m immediate -s -w -t 60 stop </dev/null >/dev/null 2>&1
rm -rf "$dir"
