//! Single cells: numbers with decimal commas, separators of thousands and units behind them.

use std::borrow::Cow;

/// Divide a cell into its number and the text behind it. Without a number at the beginning, the
/// number is NaN and the text is the whole cell, both without white space around them.
pub fn split(cell: &str) -> (f64, &str) {
    if let Some(number) = short_decimal(cell) {
        return (number, "");
    }
    let cell = cell.trim();
    if let Some(number) = parse(cell) {
        return (number, "");
    }
    let end = number_end(cell.as_bytes());
    match cell[..end].parse() {
        Ok(number) => (number, cell[end..].trim_start()),
        Err(_) => (f64::NAN, cell),
    }
}

/// Parse at most 15 digits with or without a point, several times faster than `str::parse`: the
/// digits and the power of ten are exact, so that the quotient is rounded once.
fn short_decimal(cell: &str) -> Option<f64> {
    const POWERS: [f64; 16] = [
        1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15,
    ];
    let (mut digits, mut point) = (0_u64, None);
    for (at, byte) in cell.bytes().enumerate() {
        match byte {
            b'0'..=b'9' => digits = digits.wrapping_mul(10) + u64::from(byte - b'0'),
            b'.' if point.is_none() => point = Some(at),
            _ => return None,
        }
    }
    let count = cell.len() - usize::from(point.is_some());
    let decimals = point.map_or(0, |at| cell.len() - at - 1);
    (1..=15)
        .contains(&count)
        .then(|| digits as f64 / POWERS[decimals])
}

/// Parse a whole cell as a number, infinity included, NaN not.
fn parse(cell: &str) -> Option<f64> {
    let number: f64 = cell.parse().ok()?;
    (!number.is_nan()).then_some(number)
}

/// Return the length of the longest decimal number that a text begins with; 0: with none.
fn number_end(text: &[u8]) -> usize {
    let digits = |from: usize| {
        from + text[from..]
            .iter()
            .take_while(|b| b.is_ascii_digit())
            .count()
    };
    let sign = |at: usize| at + usize::from(matches!(text.get(at), Some(b'+' | b'-')));
    let begin = sign(0);
    let whole = digits(begin);
    let mut end = whole;
    if text.get(whole) == Some(&b'.') {
        end = digits(whole + 1);
    }
    if whole == begin && end <= whole + 1 {
        return 0;
    }
    if matches!(text.get(end), Some(b'e' | b'E')) {
        let exponent = sign(end + 1);
        let last = digits(exponent);
        if last > exponent {
            end = last;
        }
    }
    end
}

/// Return a whole cell as an integer of less than 18 characters.
pub fn integer(cell: &str) -> Option<i64> {
    let cell = cell.trim();
    (cell.len() < 18 && !cell.starts_with('+')).then(|| cell.parse().ok())?
}

/// Remove separators of thousands from a cell that is one number, such as ` 1,221.14 `.
pub fn without_thousands(cell: &str, mark: char) -> Cow<'_, str> {
    let is_grouped = cell.contains(mark) && is_grouped(cell.trim_matches(' '), mark);
    if is_grouped {
        Cow::Owned(cell.replace(mark, ""))
    } else {
        Cow::Borrowed(cell)
    }
}

fn is_grouped(number: &str, mark: char) -> bool {
    let decimal = if mark == ',' { '.' } else { ',' };
    let all_digits = |text: &str| !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
    let unsigned = number.strip_prefix(['+', '-']).unwrap_or(number);
    let (whole, fraction) = match unsigned.split_once(decimal) {
        Some((whole, fraction)) => (whole, Some(fraction)),
        None => (unsigned, None),
    };
    let mut groups = whole.split(mark);
    let first = groups.next().unwrap_or_default();
    all_digits(first)
        && first.len() <= 3
        && !first.starts_with('0')
        && whole.len() > first.len()
        && groups.all(|group| group.len() == 3 && all_digits(group))
        && fraction.is_none_or(all_digits)
}

/// Replace the decimal comma of the number that a cell begins with by a point.
pub fn with_point(cell: &str) -> Cow<'_, str> {
    let trimmed = cell.trim_start();
    let unsigned = trimmed.strip_prefix(['+', '-']).unwrap_or(trimmed);
    let rest = unsigned.trim_start_matches(|c: char| c.is_ascii_digit());
    match rest.as_bytes() {
        [b',', b'0'..=b'9', ..] => {
            let comma = cell.len() - rest.len();
            Cow::Owned([&cell[..comma], ".", &rest[1..]].concat())
        }
        _ => Cow::Borrowed(cell),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cell_is_divided_after_its_number() {
        for (cell, number, rest) in [
            ("1.5", 1.5, ""),
            (" -2e3\t", -2000.0, ""),
            ("+.5", 0.5, ""),
            ("7. ms", 7.0, "ms"),
            ("12e", 12.0, "e"),
            ("1e-3x", 1e-3, "x"),
            ("3e+", 3.0, "e+"),
            ("1m2.5s", 1.0, "m2.5s"),
            ("1.5.3", 1.5, ".3"),
            ("4 µs ", 4.0, "µs"),
            ("0.1234567890123456789", 0.123_456_789_012_345_68, ""),
            ("1e999", f64::INFINITY, ""),
            ("-inf", f64::NEG_INFINITY, ""),
        ] {
            assert_eq!(split(cell), (number, rest), "{cell:?}");
        }
    }

    #[test]
    fn short_decimals_are_those_of_the_library() {
        let mut state = 1_u64;
        for length in 1..=17 {
            for point in 0..=length {
                state = state
                    .wrapping_mul(6_364_136_223_846_793_005)
                    .wrapping_add(1);
                let mut cell = format!("{:020}", state)[..length].to_string();
                cell.insert(point, '.');
                assert_eq!(
                    short_decimal(&cell),
                    (length <= 15).then(|| cell.parse().unwrap()),
                    "{cell}"
                );
            }
        }
        for cell in ["", ".", "-1", "1e3", "1..2", "1 "] {
            assert_eq!(short_decimal(cell), None, "{cell:?}");
        }
    }

    #[test]
    fn a_cell_without_a_number_is_text() {
        for (cell, text) in [
            ("", ""),
            (" NA ", "NA"),
            ("nan", "nan"),
            ("-", "-"),
            (".", "."),
            ("+.e5", "+.e5"),
        ] {
            let (number, rest) = split(cell);
            assert!(number.is_nan());
            assert_eq!(rest, text);
        }
    }

    #[test]
    fn integers_are_short_and_plain() {
        assert_eq!(integer(" -7 "), Some(-7));
        assert_eq!(integer("007"), Some(7));
        assert_eq!(integer("12345678901234567"), Some(12_345_678_901_234_567));
        for cell in ["", "1.0", "+1", "123456789012345678", "1e3"] {
            assert_eq!(integer(cell), None, "{cell:?}");
        }
    }

    #[test]
    fn thousands_are_those_of_whole_numbers_alone() {
        for (cell, mark, expected) in [
            ("1,221.14", ',', "1221.14"),
            (" -12,345 ", ',', " -12345 "),
            ("1.221.000,5", '.', "1221000,5"),
            ("1,22", ',', "1,22"),
            ("1234,567", ',', "1234,567"),
            ("1,234,56", ',', "1,234,56"),
            ("1,234.", ',', "1,234."),
            ("1,234 ms", ',', "1,234 ms"),
            (",234", ',', ",234"),
            ("950.5", ',', "950.5"),
            ("0.123", '.', "0.123"),
        ] {
            assert_eq!(without_thousands(cell, mark), expected, "{cell:?}");
        }
    }

    #[test]
    fn the_decimal_comma_of_the_first_number_becomes_a_point() {
        for (cell, expected) in [
            ("1,5", "1.5"),
            (" -1,5 ms", " -1.5 ms"),
            (",5", ".5"),
            ("1.5", "1.5"),
            ("a1,5", "a1,5"),
            ("1,", "1,"),
            ("1,2,3", "1.2,3"),
        ] {
            assert_eq!(with_point(cell), expected, "{cell:?}");
        }
    }
}
