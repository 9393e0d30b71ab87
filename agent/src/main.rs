mod record;
fn main() { println!("{}", record::SCHEMA); }
