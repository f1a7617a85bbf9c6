//! What `mpiexec` says of a job: lines of fields that tabs separate, the first of which says what it is. A snapshot
//! ends with the line `shown`, so that nobody draws half of one. What makes no sense is left out.

use std::collections::VecDeque;

/// Lines of output that are kept.
const OUTPUT_LINES_MAX: usize = 500;

/// A rank as it was.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Row {
    pub rank: usize,
    pub host: String,
    pub pid: String,
    /// What its process does: "runs", "waits", "sleeps", ….
    pub state: String,
    /// Its present or last call.
    pub call: String,
    /// For how long it has waited in it, in seconds.
    pub waited: Option<f64>,
    /// For whom.
    pub waits_for: String,
    /// How many wait for it, be it for what others do first.
    pub holds_up: usize,
    /// The part of its time that it was in MPI, from 0 to 1.
    pub inside: Option<f64>,
    /// The part of its time that it waited.
    pub waiting: Option<f64>,
    /// Bytes a second that its calls are for.
    pub rate: Option<f64>,
    /// Bytes of memory that it has.
    pub memory: Option<f64>,
    pub core: String,
}

impl Row {
    fn parse(mut fields: std::str::Split<'_, char>) -> Option<Row> {
        let mut next = || fields.next().map(str::to_owned);
        let row = Row {
            rank: next()?.parse().ok()?,
            host: next()?,
            pid: next()?,
            state: next()?,
            call: next()?,
            waited: next()?.parse().ok(),
            waits_for: next()?,
            holds_up: next()?.parse().ok()?,
            inside: next()?.parse().ok(),
            waiting: next()?.parse().ok(),
            rate: next()?.parse().ok(),
            memory: next()?.parse().ok(),
            core: next()?,
        };
        Some(row)
    }
}

/// All that is known of the job.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Snapshot {
    pub seconds: f64,
    pub title: String,
    pub rows: Vec<Row>,
    /// Who waits for whom, in sentences.
    pub graph: Vec<String>,
    /// What the ranks have written, the last lines.
    pub output: VecDeque<String>,
}

/// Makes snapshots of lines.
#[derive(Debug, Default)]
pub struct Reader {
    coming: Snapshot,
    /// The last whole one.
    pub shown: Snapshot,
}

impl Reader {
    /// Takes a line; whether there is something new to be seen.
    pub fn take(&mut self, line: &str) -> bool {
        let mut fields = line.split('\t');
        match fields.next() {
            Some("job") => {
                let seconds = fields.next().and_then(|field| field.parse().ok()).unwrap_or(0.0);
                let title = fields.next().unwrap_or_default().to_owned();
                self.coming = Snapshot { seconds, title, ..Snapshot::default() };
            }
            Some("rank") => self.coming.rows.extend(Row::parse(fields)),
            Some("graph") => self.coming.graph.push(fields.next().unwrap_or_default().to_owned()),
            Some("shown") => {
                let coming = std::mem::take(&mut self.coming);
                let output = std::mem::take(&mut self.shown.output);
                self.shown = Snapshot { output, ..coming };
                self.shown.rows.sort_by_key(|row| (std::cmp::Reverse(row.holds_up), row.waited.is_some(), row.rank));
                return true;
            }
            Some("output") => {
                if self.shown.output.len() == OUTPUT_LINES_MAX {
                    self.shown.output.pop_front();
                }
                self.shown.output.push_back(fields.collect::<Vec<_>>().join("    "));
                return true;
            }
            _ => {}
        }
        false
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_snapshot_is_seen_once_it_is_whole_and_who_holds_others_up_comes_first() {
        let mut reader = Reader::default();
        assert!(!reader.take("job\t2.5\t./heat 100"));
        assert!(!reader.take("rank\t0\tnode\t100\twaits\treceive\t1.5\trank 1\t0\t0.9\t0.75\t-\t1024\t3"));
        assert!(!reader.take("rank\t1\tnode\t101\truns\tsend\t-\t-\t1\t0\t0\t5e9\t2048\t-"));
        assert!(!reader.take("graph\trank 0 waits for rank 1"));
        assert_eq!(reader.shown, Snapshot::default());
        assert!(reader.take("shown"));
        let shown = &reader.shown;
        assert_eq!((shown.seconds, shown.title.as_str(), shown.graph.len()), (2.5, "./heat 100", 1));
        assert_eq!(shown.rows.iter().map(|row| row.rank).collect::<Vec<_>>(), [1, 0]);
        assert_eq!((shown.rows[1].waited, shown.rows[1].rate, shown.rows[0].rate), (Some(1.5), None, Some(5e9)));
    }

    #[test]
    fn output_stays_and_the_oldest_goes() {
        let mut reader = Reader::default();
        (0..OUTPUT_LINES_MAX + 1).for_each(|number| assert!(reader.take(&format!("output\tline {number}"))));
        reader.take("job\t1\tx");
        assert!(reader.take("shown"));
        assert_eq!(reader.shown.output.front().unwrap(), "line 1");
    }

    #[test]
    fn nonsense_is_left_out() {
        let mut reader = Reader::default();
        for line in ["", "rank", "rank\tx", "rank\t1\ta\tb", "job", "other\t1"] {
            assert!(!reader.take(line), "{line}");
        }
        assert!(reader.take("shown") && reader.shown.rows.is_empty());
    }
}
