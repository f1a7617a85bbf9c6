//! The live table of a job, as long as there is one. What ranks write to a terminal is kept meanwhile; it is shown in
//! the table, and written once that is closed.

use super::Watch;
use crate::live::{Live, Wish};
use crate::rank_state::RankState;
use crate::report;
use crate::samples::{Looked, Samples};
use crate::waits;
use crate::wire::Order;
use rustix::event::PollFd;
use rustix::process::Signal;
use std::fmt::Write;
use std::time::{Duration, Instant};

/// From one look at the ranks to the next.
const INTERVAL: Duration = Duration::from_millis(500);

/// The table, and what it has shown.
pub(super) struct Viewing {
    live: Live,
    samples: Samples,
    /// When the ranks are to be looked at again.
    pub(super) next: Instant,
}

impl Watch {
    /// Opens the table, if there is to be one.
    pub(super) fn open_table(&mut self) {
        if !self.spec.live {
            return;
        }
        match Live::open() {
            Ok(live) => {
                self.outputs.hold_back();
                self.viewing = Some(Viewing { live, samples: Samples::default(), next: Instant::now() });
            }
            Err(why) => self.outputs.note(&format!("--watch has no effect: {why}")),
        }
    }

    /// Closes it, if it is open, and has everything written that was kept.
    pub(super) fn close_table(&mut self) {
        if self.viewing.take().is_some() {
            self.outputs.let_go();
        }
    }

    /// What to wait for.
    pub(super) fn poll_table<'a>(&'a self, polled: &mut Vec<PollFd<'a>>) {
        self.viewing.iter().for_each(|viewing| viewing.live.poll(polled));
    }

    /// Shows what ranks have written.
    pub(super) fn show_written(&mut self, written: &[u8]) {
        self.viewing.iter_mut().for_each(|viewing| viewing.live.show_output(written));
    }

    /// Does what keys ask for, and shows what is new.
    pub(super) fn look_at_table(&mut self) {
        let Some(viewing) = &mut self.viewing else { return };
        for wish in viewing.live.wishes() {
            match wish {
                Wish::End => self.interrupt(Signal::INT),
                Wish::Quit => self.signal_all(Signal::QUIT),
                Wish::Leave => return self.close_table(),
            }
        }
        if self.running && self.sites.iter().all(|site| site.over || site.samples.is_some()) {
            self.show_samples();
        }
        let now = Instant::now();
        let Some(viewing) = self.viewing.as_mut().filter(|viewing| viewing.next <= now) else { return };
        viewing.next = now + INTERVAL;
        self.sites.iter_mut().for_each(|site| site.order(Order::Sample));
    }

    fn show_samples(&mut self) {
        let (mut hosts, mut samples) = (Vec::new(), Vec::new());
        for site in &mut self.sites {
            let host = site.host();
            let of_site = site.samples.take().unwrap_or_default();
            hosts.extend(std::iter::repeat_n(host, of_site.len()));
            samples.extend(of_site);
        }
        let states: Vec<RankState> = samples.iter().map(|sample| self.state(&sample.seen)).collect();
        let program = &self.spec.sections[0];
        let title = report::command_line(&program.program, &program.arguments);
        let mut text = format!("job\t{:.1}\t{title}\n", self.started.elapsed().as_secs_f64());
        waits::text(&states).lines().for_each(|line| _ = writeln!(text, "graph\t{}", line.trim()));
        let looked: Vec<Looked<'_>> = hosts
            .iter()
            .zip(samples)
            .zip(states)
            .map(|((host, sample), state)| (host.as_str(), sample, state))
            .collect();
        if let Some(viewing) = &mut self.viewing {
            text += &viewing.samples.lines(Instant::now(), &looked);
            text += "shown\n";
            viewing.live.tell(&text);
        }
    }
}
