//! A host of the job as whoever watches the job sees it: in this process, or behind an agent.

use crate::daemon;
use crate::error::LaunchError;
use crate::host::Host;
use crate::hosts::{self, Share};
use crate::job_spec::JobSpec;
use crate::phrases::{counted, ranges};
use crate::pmi::Entry;
use crate::rank_state::RankSeen;
use crate::remote::{Agent, Remote};
use crate::samples::Sample;
use crate::spawn::{self, RankInputKind};
use crate::this_machine;
use crate::wire::{Event, Order, Task, WaitSeen};
use rustix::event::PollFd;
use std::env;
use std::time::{Duration, Instant};

/// A host and what is known of it.
pub(crate) struct Site {
    /// Its name, if the user has named hosts.
    pub(crate) name: Option<String>,
    /// The numbers of its ranks.
    pub(crate) ranks: Vec<usize>,
    /// `None`: it is lost, or given up.
    end: Option<End>,
    pub(crate) ready: bool,
    /// How many of its ranks run.
    pub(crate) running: usize,
    /// Whether one of them takes part in the job.
    pub(crate) in_job: bool,
    /// What its ranks have left, if all of them wait for the others.
    pub(crate) left: Option<Vec<Entry>>,
    /// Its answer to the last question what the ranks do.
    pub(crate) states: Option<Vec<RankSeen>>,
    /// What there is to be seen of its ranks, likewise.
    pub(crate) samples: Option<Vec<Sample>>,
    /// Whether all its ranks wait,
    pub(crate) all_wait: bool,
    /// and its answer to the last question what for.
    pub(crate) waits: Option<Vec<WaitSeen>>,
    /// Whether its ranks' output is left where it is.
    held: bool,
    /// Whether no process of the job is left there.
    pub(crate) over: bool,
}

enum End {
    Here(Box<Host>),
    There(Box<Remote>),
}

impl Site {
    /// Has every host of the job prepare for it.
    pub(crate) fn prepare_all(spec: &JobSpec, input_kind: RankInputKind) -> Result<Vec<Site>, LaunchError> {
        let mut hosts = spec.hosts.clone();
        // What another agent calls a host is its own matter.
        let here = if spec.launch_agent.is_empty() { this_machine::unite(&mut hosts) } else { None };
        let shares = hosts::deal(&hosts, &spec.dealing, spec.section_of().len());
        let mut nodes = vec![0; spec.section_of().len()];
        for (index, share) in shares.iter().enumerate() {
            share.ranks.iter().for_each(|&rank| nodes[rank] = index);
        }
        let file_limit = spawn::make_room_for_agents(shares.iter().filter(|share| share.host.is_some()).count());
        let names: Vec<Option<String>> = shares.iter().map(|share| share.host.clone()).collect();
        let site = |(index, Share { host, ranks }): (usize, Share)| {
            let neighbor =
                names.iter().enumerate().find(|&(other, _)| other != index).and_then(|(_, name)| name.clone());
            let end = match &host {
                None => {
                    let host = Host::prepare(spec.clone(), ranks.clone(), nodes.clone(), input_kind)?;
                    End::Here(Box::new(host))
                }
                Some(name) => {
                    let task = task(spec, name, ranks.clone(), nodes.clone(), neighbor)?;
                    let order = Order::Prepare(Box::new(task));
                    let agent = if here.as_ref() == Some(name) { Agent::None } else { Agent::of(&spec.launch_agent) };
                    End::There(Box::new(Remote::reach(name, agent, order, file_limit)?))
                }
            };
            let ready = matches!(end, End::Here(_));
            Ok(Site {
                name: host,
                ranks,
                end: Some(end),
                ready,
                running: 0,
                in_job: false,
                left: None,
                states: None,
                samples: None,
                all_wait: false,
                waits: None,
                held: false,
                over: false,
            })
        };
        shares.into_iter().enumerate().map(site).collect()
    }

    /// Starts its ranks.
    pub(crate) fn start(&mut self) -> Result<(), LaunchError> {
        self.running = self.ranks.len();
        match &mut self.end {
            Some(End::Here(host)) => host.start(),
            Some(End::There(remote)) => {
                remote.order(&Order::Start);
                Ok(())
            }
            None => Ok(()),
        }
    }

    pub(crate) fn order(&mut self, order: Order) {
        match &mut self.end {
            Some(End::Here(host)) => host.obey(order),
            Some(End::There(remote)) => remote.order(&order),
            None => {}
        }
    }

    /// Whether its ranks' output is to be left where it is.
    pub(crate) fn hold(&mut self, held: bool) {
        if self.ready && std::mem::replace(&mut self.held, held) != held {
            self.order(Order::Hold(held));
        }
    }

    /// All ranks of the job have ended.
    pub(crate) fn finish(&mut self) {
        if self.ready { self.order(Order::Finish) } else { self.give_up() }
    }

    /// What to wait for.
    pub(crate) fn poll<'a>(&'a self, polled: &mut Vec<PollFd<'a>>) {
        match &self.end {
            Some(End::Here(host)) => host.poll(polled),
            Some(End::There(remote)) => remote.poll(polled),
            None => {}
        }
    }

    /// How long to wait at most.
    pub(crate) fn due(&self, now: Instant) -> Option<Duration> {
        match &self.end {
            Some(End::Here(host)) => host.due(now),
            _ => None,
        }
    }

    /// What has happened since the last time.
    pub(crate) fn look(&mut self, now: Instant) -> Result<Vec<Event>, LaunchError> {
        match &mut self.end {
            Some(End::Here(host)) => host.look(now),
            Some(End::There(remote)) => {
                let mut events = remote.look(now);
                if let Some(wrong) = events.iter().position(|event| !event.is_of(&self.ranks)) {
                    events.truncate(wrong);
                    events.push(Event::Lost("its daemon makes no sense: it speaks of ranks of others".to_owned()));
                }
                Ok(events)
            }
            None => Ok(Vec::new()),
        }
    }

    /// Nothing more is expected of it.
    pub(crate) fn give_up(&mut self) {
        self.end = None;
        self.running = 0;
        self.in_job = false;
        self.all_wait = false;
        self.over = true;
    }

    /// Which ranks it has, as `--display map` says it.
    pub(crate) fn map(&self) -> String {
        format!("map: {} of {}: {}", counted(self.ranks.len(), "rank"), self.host(), ranges(&self.ranks))
    }

    /// The host's name as a report has it.
    pub(crate) fn host(&self) -> String {
        self.name.clone().unwrap_or_else(this_machine::name)
    }
}

fn task(
    spec: &JobSpec,
    name: &str,
    ranks: Vec<usize>,
    nodes: Vec<usize>,
    neighbor: Option<String>,
) -> Result<Task, LaunchError> {
    let directory = env::current_dir().map_err(LaunchError::system("find the working directory"))?;
    // What other agents understand need not be a name that the network knows.
    let neighbor = neighbor.filter(|_| spec.launch_agent.is_empty());
    let name = (!spec.launch_agent.is_empty()).then(|| name.to_owned());
    let environment = env::vars_os().filter(|(name, _)| daemon::is_carried(name)).collect();
    Ok(Task { spec: spec.clone(), name, ranks, nodes, directory, environment, neighbor })
}
