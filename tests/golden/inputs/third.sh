# Fails in a third of its executions.
sleep 0.01
[ $(( $$ % 3 )) -ne 0 ] || { echo "row $$ is locked" >&2; exit 5; }
