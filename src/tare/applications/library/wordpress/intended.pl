# Adds to JMeter's results the column `intended`: when each request was due, in ms since the epoch.
#   intended.pl RATE SECONDS SEED PAUSE FILE      intended.pl count RATE SECONDS
#
# JMeter's open model (5.6.3: ThreadScheduleProcessGenerator, PoissonArrivalsRamp) draws all times
# of arrival before it starts, from java.util.Random with a seed, and sorts them. The thread of
# arrival N is named so, and starts no sooner than TESTSTART.MS + that time. So the times are drawn
# again here. JMeter writes when a request did start; how much later that is counts as waiting.
use strict;
use warnings;
no warnings "portable";

sub fail { print STDERR "intended starts: @_\n"; exit 1 }

# As JMeter counts them: in floating point, rounded down.
sub arrivals { my ($rate, $seconds) = @_; return int(($rate + $rate) / 2 * $seconds) }

if ($ARGV[0] eq 'count') { print arrivals(@ARGV[1, 2]), "\n"; exit }

my ($rate, $seconds, $seed, $pause, $path) = @ARGV;
my $count = arrivals($rate, $seconds);

# java.util.Random: 48 bits, of which a double takes 26 and 27.
my $mask = (1 << 48) - 1;
my $state = ($seed ^ 0x5DEECE66D) & $mask;
sub bits {
    my $wanted = shift;
    { use integer; $state = $state * 0x5DEECE66D + 0xB }
    $state &= $mask;
    return $state >> (48 - $wanted);
}
my @due;
for (1 .. $count) {
    my $high = bits(26);
    push @due, (($high << 27) + bits(27)) / 2**53 * $seconds;
}
@due = sort { $a <=> $b } @due;

open my $file, '<', $path or fail("$path: $!");
my ($header, @lines) = <$file>;
close $file;
# A message in quotes may go on in the next line.
my @rows;
for my $line (@lines) {
    if (@rows && ($rows[-1] =~ tr/"//) % 2) { $rows[-1] .= $line }
    else { push @rows, $line }
}
chomp $header;
my @names = map { s/"//gr } split /,/, $header;
my %at = map { $names[$_] => $_ } 0 .. $#names;
for (qw(timeStamp threadName TESTSTART.MS)) { fail("$path has no column $_") if !defined $at{$_} }
fail(scalar(@rows), "rows of $count arrivals") if @rows != $count;

my (%seen, @lags);
for my $row (@rows) {
    chomp $row;
    # Texts with commas are in quotes; none of the three columns has any.
    my @fields = $row =~ /\G("(?:[^"]|"")*"|[^,]*)(?:,|$)/g;
    my ($started, $thread, $began) = @fields[@at{qw(timeStamp threadName TESTSTART.MS)}];
    my ($number) = $thread =~ /-(\d+)$/ or fail("a thread is called $thread");
    fail("arrival $number of $count") if $number < 1 || $number > $count;
    fail("arrival $number twice") if $seen{$number}++;
    my $due = $began + int(($pause + $due[$number - 1]) * 1000 + 0.5);
    my $lag = $started - $due;
    # JMeter's two clocks differ by up to a millisecond, each rounded to one.
    fail("arrival $number started $lag ms before it was due: JMeter draws other times") if $lag < -2;
    push @lags, $lag;
    $row .= ',' . ($lag < 0 ? $started : $due);
}
my $first = $lags[0];
@lags = sort { $a <=> $b } @lags;
fail("no request started less than $lags[0] ms late") if @lags && $lags[0] > 1000;
fail("JMeter took $first ms longer to start than the $pause s that it has") if $first > 1000;

open $file, '>', "$path.new" or fail("$path.new: $!");
print $file "$header,intended\n", map { "$_\n" } @rows;
close $file or fail("$path.new: $!");
rename "$path.new", $path or fail("$path: $!");
printf "started late: median %d ms, p99 %d ms, largest %d ms of %d requests\n",
    $lags[$#lags / 2], $lags[int($#lags * 0.99)], $lags[-1], $count;
