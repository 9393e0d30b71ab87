# Turns a recorded visit into what JMeter does:
#   visit.pl VISIT.har PLANS DIRECTORY     leaves closed.jmx and open.jmx, made of those in PLANS, and
#                                          steps, the number of requests
#
# A visit is in the HTTP Archive format (HAR 1.2), as browsers save it: requests in the order of their
# starts, with the label `comment`, or else method and path. Before each, a user waits for `_think_ms`, or
# else as recorded: from the end of the request before to the start of this one. `_expect` is a text that
# the answer must hold. Requests to other hosts than that of the first are left out: they are not the
# site's. It may be anybody's file, so that nothing of it reaches JMeter unchecked.
use strict;
use warnings;
use JSON::PP;
use Time::Local qw(timegm);

my ($most_bytes, $most_steps, $most_think_ms, $most_characters) = (32 << 20, 200, 3_600_000, 200);

sub fail { print STDERR "the visit: @_\n"; exit 1 }

sub text {
    my ($value, $name) = @_;
    fail("$name is no text") if !defined $value || ref $value;
    # JMeter would execute such an expression.
    fail("$name has a \${") if $value =~ /\$\{/;
    return $value;
}

# In milliseconds; undefined: not recorded.
sub milliseconds {
    my ($value, $name) = @_;
    return undef if !defined $value;
    fail("$name is no time in ms") if ref $value || $value !~ /^[0-9]{1,12}(?:\.[0-9]+)?(?:[eE](?:[0-9]|-[0-9]{1,2}))?$/;
    return $value + 0;
}

sub start_ms {
    my ($value, $name) = @_;
    return undef if !defined $value;
    my ($year, $month, $day, $hour, $minute, $second, $zone) = text($value, $name) =~
        /^(\d{4})-(\d\d)-(\d\d)T(\d\d):(\d\d):(\d\d(?:\.\d{1,9})?)(Z|[+-]\d\d:?\d\d)$/
        or fail("$name is no time of ISO 8601");
    my $days = eval { timegm(0, 0, 0, $day, $month - 1, $year) };
    fail("$name is no day") if !defined $days;
    my $offset = $zone =~ /^([+-])(\d\d):?(\d\d)$/ ? ($2 * 60 + $3) * ($1 eq '-' ? -1 : 1) : 0;
    return ($days + $hour * 3600 + ($minute - $offset) * 60 + $second) * 1000;
}

sub steps {
    my $file = shift;
    open my $handle, '<:raw', $file or fail("$file: $!");
    fail('has more than 32 MiB: save it without contents') if -s $handle > $most_bytes;
    my $json = do { local $/; <$handle> } =~ s/^\xef\xbb\xbf//r;
    my $har = eval { JSON::PP->new->utf8->max_depth(64)->decode($json) };
    my $entries = eval { $har->{log}{entries} };
    fail('is no HTTP Archive with log.entries') if ref $entries ne 'ARRAY' || !@$entries;
    my ($number, $site, @steps) = (0);
    for my $entry (@$entries) {
        my $name = 'entry ' . ++$number;
        fail("$name has no request") if ref $entry ne 'HASH' || ref $entry->{request} ne 'HASH';
        my $request = $entry->{request};
        fail("the url of $name is no text") if !defined $request->{url} || ref $request->{url};
        # Requests to other hosts, or not by HTTP (data:, wss:), are left out without further checks.
        my ($host) = $request->{url} =~ m{^https?://([^/?#]+)} or next;
        $site //= $host;
        next if $host ne $site;
        my $method = text($request->{method}, "the method of $name");
        fail("$name has another method") if $method !~ /^(?:GET|HEAD|POST|PUT|DELETE|OPTIONS|PATCH)$/;
        my ($path) = text($request->{url}, "the url of $name") =~
            m{^https?://[^/?#]+((?:[/?][!-"\$-~]{0,8000})?)(?:#.*)?$}s or fail("$name has no url of HTTP");
        $path = "/$path" if $path !~ m{^/};
        # HAR: -1 where it is not known.
        my $took = ($entry->{time} // '') eq '-1' ? undef : $entry->{time};
        my $body = ref $request->{postData} eq 'HASH' ? $request->{postData} : {};
        my ($bare) = $path =~ /^([^?]*)/;
        push @steps, {
            method => $method, path => $path,
            label => text($entry->{comment} // '', "the label of $name") || "$method $bare",
            start => start_ms($entry->{startedDateTime}, "the start of $name"),
            took => milliseconds($took, "the time of $name"),
            think => milliseconds($entry->{_think_ms}, "_think_ms of $name"),
            expect => text($entry->{_expect} // '', "_expect of $name"),
            body => text($body->{text} // '', "the body of $name"),
            type => text($body->{mimeType} // '', "the type of $name"),
        };
    }
    fail('has no request by HTTP') if !@steps;
    @steps = sort { $a->{start} <=> $b->{start} } @steps if !grep { !defined $_->{start} } @steps;
    fail("has more than $most_steps requests to its host") if @steps > $most_steps;
    my $end;
    for my $step (@steps) {
        my $gap = defined $end && defined $step->{start} ? $step->{start} - $end : 0;
        $step->{think} //= $gap > 0 ? $gap : 0;
        fail("a user waits for more than an hour: $step->{think} ms") if $step->{think} > $most_think_ms;
        my $known = defined $step->{start} && defined $step->{took};
        $end = $known ? $step->{start} + $step->{took} : undef;
    }
    return @steps;
}

sub escaped {
    my $text = shift;
    my %entity = ('&' => '&amp;', '<' => '&lt;', '>' => '&gt;', '"' => '&quot;');
    $text =~ s/([&<>"])/$entity{$1}/g;
    # Line breaks and tabs as character references; other control characters are invalid in XML.
    $text =~ s/([\r\n\t])/'&#' . ord($1) . ';'/ge;
    fail('a text has control characters') if $text =~ /[\x00-\x1f\x{d800}-\x{dfff}\x{fffe}\x{ffff}]/;
    return $text;
}

sub property { my ($name, $value) = @_; return "<stringProp name=\"$name\">" . escaped($value) . '</stringProp>' }

# What JMeter has of one step; without its think time, requests follow each other at once.
sub element {
    my ($step, $thinks) = @_;
    my ($label) = $step->{label} =~ s/\s+/ /gr =~ /^(.{0,$most_characters})/;
    my $made = '<HTTPSamplerProxy guiclass="HttpTestSampleGui" testclass="HTTPSamplerProxy" testname="'
        . escaped($label) . '">' . property('HTTPSampler.path', $step->{path})
        . property('HTTPSampler.method', $step->{method})
        . '<boolProp name="HTTPSampler.use_keepalive">true</boolProp>';
    $made .= '<boolProp name="HTTPSampler.postBodyRaw">true</boolProp>'
        . '<elementProp name="HTTPsampler.Arguments" elementType="Arguments">'
        . '<collectionProp name="Arguments.arguments"><elementProp name="" elementType="HTTPArgument">'
        . '<boolProp name="HTTPArgument.always_encode">false</boolProp>'
        . property('Argument.value', $step->{body}) . property('Argument.metadata', '=')
        . '</elementProp></collectionProp></elementProp>' if $step->{body} ne '';
    $made .= "</HTTPSamplerProxy>\n<hashTree>\n";
    $made .= '<HeaderManager guiclass="HeaderPanel" testclass="HeaderManager" testname="type">'
        . '<collectionProp name="HeaderManager.headers"><elementProp name="" elementType="Header">'
        . property('Header.name', 'Content-Type') . property('Header.value', $step->{type})
        . "</elementProp></collectionProp></HeaderManager><hashTree/>\n" if $step->{type} ne '';
    $made .= '<ResponseAssertion guiclass="AssertionGui" testclass="ResponseAssertion" testname="content">'
        . '<collectionProp name="Asserion.test_strings">' . property('0', $step->{expect})
        . '</collectionProp><stringProp name="Assertion.test_field">Assertion.response_data</stringProp>'
        . "<intProp name=\"Assertion.test_type\">16</intProp></ResponseAssertion><hashTree/>\n"
        if $step->{expect} ne '';
    $made .= '<ConstantTimer guiclass="ConstantTimerGui" testclass="ConstantTimer" testname="thinks">'
        . property('ConstantTimer.delay', sprintf '%.0f', $step->{think}) . "</ConstantTimer><hashTree/>\n"
        if $thinks && $step->{think} > 0;
    return "$made</hashTree>\n";
}

sub written {
    my ($path, $content) = @_;
    open my $file, '>:utf8', $path or fail("$path: $!");
    print $file $content;
    close $file or fail("$path: $!");
}

my ($visit, $plans, $directory) = @ARGV;
my @steps = steps($visit);
my $at_once = join '', map { element($_, 0) } @steps;
my %visits = (closed => join('', map { element($_, 1) } @steps), open => $at_once);
for my $plan (sort keys %visits) {
    open my $file, '<:utf8', "$plans/$plan.jmx" or fail("$plans/$plan.jmx: $!");
    my $made = do { local $/; <$file> };
    $made =~ s/<!-- warm-up -->/$at_once/;
    $made =~ s/<!-- visit -->/$visits{$plan}/;
    written("$directory/$plan.jmx", $made);
}
written("$directory/steps", scalar(@steps) . "\n");
print 'a visit of ', scalar(@steps), " requests\n";
