# Runs the programs whose names arrive on standard input, each a script in the
# folder $1. When standard input ends, the process that asked for them is gone:
# ends them and removes the folder.
cd "$1" || exit 1
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
    until [ -s "$program.pid" ]; do sleep 0.01; done
    # Nothing of value is in there: no need to be gentle.
    [ -e "$program.exit" ] || kill -9 "$(cat "$program.pid")"
done
wait
cd / && rm -rf "$1"
