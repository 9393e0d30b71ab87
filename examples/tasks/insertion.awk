# Sorts the numbers of its input by insertion.
{
    for (i = NR; i > 1 && a[i - 1] > $1 + 0; i--)
        a[i] = a[i - 1]
    a[i] = $1 + 0
}
END {
    for (i = 1; i <= NR; i++)
        print a[i]
}
