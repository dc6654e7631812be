# Runs programs: each line of standard input names a script in the folder $1. The end of
# standard input means that the test process has ended: kill the programs and remove the folder.
cd "$1" || exit 1
# The kernel sends SIGHUP to an orphaned process group with a stopped member, and a child may be
# paused when the test process dies. A handler, because children would inherit an ignored signal.
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
    # The pid file appears within milliseconds, unless a SIGHUP interrupted the subshell before it wrote it.
    until read -r process <"$program.pid" || [ $((tries += 1)) -gt 500 ]; do sleep 0.01; done
    # SIGKILL, because no data has to be saved.
    [ -e "$program.exit" ] || kill -9 "$process"
done
# A second time if SIGHUP interrupted the first wait.
wait || wait
cd / && rm -rf "$1"
