# Runs the programs whose names arrive on standard input, each a script in the
# folder $1. When standard input ends, the process that asked for them is gone:
# ends them and removes the folder.
cd "$1" || exit 1
# A process group that loses its parent while a member is stopped is sent a hangup, and
# a child may be paused when the test process dies. A handler, as children would inherit
# a signal that is ignored.
trap : HUP
programs=
while read -r program; do
    programs="$programs $program"
    {
        sh "./$program" </dev/null >"$program.log" 2>&1 &
        echo $! >"$program.pid"
        wait $!
        echo $? >"$program.exit"
    } &
done
for program in $programs; do
    tries=0
    # It is there in a moment, unless this one was hung up in just that moment.
    until read -r process <"$program.pid" || [ $((tries += 1)) -gt 500 ]; do sleep 0.01; done
    # Nothing of value is in there: no need to be gentle.
    [ -e "$program.exit" ] || kill -9 "$process"
done
# Twice when the hangup comes in between.
wait || wait
cd / && rm -rf "$1"
