#!/bin/sh
# Workers that train runs of the coordinator {{.Join}}
#   sh workers.sh         starts one on each machine; it ends when the study ends, and its lines are in {{.Name}}.log there
#   sh workers.sh stop    has them save, hand their runs back, and end
set -u
# The quotes are for the machines' shells.
# shellcheck disable=SC1003,SC2016
start={{quote .Start}}
# shellcheck disable=SC1003,SC2016
stop={{quote .Stop}}
case ${1-start} in
start) command=$start ;;
stop) command=$stop ;;
*)
	echo "usage: sh workers.sh [start|stop]" >&2
	exit 2
	;;
esac
failed=0
for host in{{range .Hosts}} {{quote .}}{{end}}; do
	# -n: ssh reads nothing from this terminal. BatchMode: it asks for no password.
	if ! ssh -n -o BatchMode=yes -- "$host" "$command"; then
		echo "$host: failed" >&2
		failed=1
	fi
done
exit $failed
