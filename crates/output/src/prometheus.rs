//! The text format of Prometheus (exposition format 0.0.4).

/// Returns the value of a label, with its quotes.
pub fn label(value: &str) -> String {
    format!("\"{}\"", value.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n"))
}

#[cfg(test)]
mod tests {
    #[test]
    fn a_label_cannot_end_its_line() {
        assert_eq!(super::label("lt_dctcp"), "\"lt_dctcp\"");
        assert_eq!(super::label("a\"} 1\nb\\"), "\"a\\\"} 1\\nb\\\\\"");
    }
}
