//! What becomes of arguments.

use super::*;
use crate::job_spec::Transport;
use crate::redirect::Readers;
use rwmpi_core::Protocol;
use std::os::unix::ffi::OsStrExt;

fn words(line: &str) -> Vec<OsString> {
    line.split(' ').map(OsString::from).collect()
}

fn parsed(arguments: Vec<OsString>) -> Result<Request, String> {
    match parse(arguments)? {
        Asked::Job(request) => Ok(*request),
        Asked::Text(text) => panic!("no job, but {text}"),
    }
}

fn spec(line: &str) -> JobSpec {
    parsed(words(line)).unwrap_or_else(|error| panic!("{line}: {error}")).spec
}

fn notes(line: &str) -> Vec<String> {
    parsed(words(line)).unwrap_or_else(|error| panic!("{line}: {error}")).notes
}

fn refused(line: &str) -> String {
    parse(words(line)).expect_err(line)
}

fn shown(line: &str) -> String {
    match parse(words(line)) {
        Ok(Asked::Text(text)) => text,
        other => panic!("{line}: no text, but {other:?}"),
    }
}

#[test]
fn ranks_in_every_spelling() {
    for line in ["-n 4 a", "-np 4 a", "--np 4 a", "--n 4 a", "-n4 a", "--np=4 a", "-np=4 a", "-n 4 -- a"] {
        assert_eq!(spec(line).sections[0].ranks, 4, "{line}");
    }
    assert_eq!(spec("a").sections[0].ranks, 1);
}

#[test]
fn options_end_at_the_program() {
    let spec = spec("-l a -n 3 --timeout -- x");
    assert_eq!(spec.streams.prefix.as_deref(), Some("[%r] "));
    assert_eq!(spec.timeout, None);
    assert_eq!(spec.sections[0].arguments, words("-n 3 --timeout -- x"));
}

#[test]
fn sections_have_their_own_options_and_share_the_global_ones() {
    let spec = spec("-n 2 -env A -1 -genv B 2 -wdir /tmp a x : -n 3 --timeout 1.5 -x C=3=3 -wd / b");
    assert_eq!(spec.sections[0].environment, [("A".into(), "-1".into())]);
    assert_eq!(spec.sections[0].directory, Some("/tmp".into()));
    assert_eq!(spec.environment, [("B".into(), "2".into())]);
    assert_eq!(spec.sections[1].ranks, 3);
    assert_eq!(spec.sections[1].environment, [("C".into(), "3=3".into())]);
    assert_eq!(spec.sections[1].directory, Some("/".into()));
    assert_eq!(spec.timeout, Some(Duration::from_millis(1500)));
}

#[test]
fn settings_are_understood() {
    let spec = spec(
        "-bind-to none --report-bindings -protocol nsr -transport tcp -lanes 3 -segment-dir /dev/shm -explain -tag-output a",
    );
    assert_eq!(spec.wish.bind, crate::placement::Bind::Free);
    assert_eq!(spec.protocol, Some(Protocol::Nsr));
    assert_eq!(spec.transport, Some(Transport::Tcp));
    assert_eq!(spec.lanes, Some(3));
    assert_eq!(spec.segment_directory, Some("/dev/shm".into()));
    assert!(spec.explain && spec.report_bindings && spec.streams.prefix.is_some());
}

#[test]
fn hosts_are_understood() {
    let spec = spec("-hosts a,b:2 -ppn 3 -launch-agent rsh -n 4 a : --interface eth0 b");
    assert_eq!(spec.hosts.len(), 2);
    assert_eq!(spec.dealing.ranks_per_host, Some(3));
    assert_eq!(spec.launch_agent, words("rsh"));
    assert_eq!(spec.interface.as_deref(), Some("eth0"));
    for line in ["-H a:2,b x", "--H a:2,b x", "-host a:2,b x", "--host a:2,b x", "-H a:2 -H b x", "--hosts=a:2,b x"] {
        let hosts = self::spec(line).hosts;
        assert_eq!(hosts.iter().map(|host| host.slots).collect::<Vec<_>>(), [Some(2), None], "{line}");
    }
    assert_eq!(self::spec("-N 2 -c 4 x").dealing.ranks_per_host, Some(2));
    assert!(refused("-hosts a,,b x").contains("without a name"));
    assert!(refused("-f /no/such/file x").contains("/no/such/file"));
    assert!(refused("-ppn 0 x").contains('0'));
    assert!(refused("-usize many x").contains("many"));
}

#[test]
fn habits_from_other_launchers_get_a_note() {
    assert_eq!(notes("--oversubscribe -allow-run-as-root -np 2 a").len(), 2);
    assert_eq!(notes("-rmk user -disable-auto-cleanup -launcher fork -nolocal a").len(), 3);
    assert_eq!(notes("--mca btl self --mca pml ob1 --map-by core a").len(), 1);
    assert_eq!(notes("-rmk user a"), ["note: -rmk has no effect: hosts are those of --hosts or --hostfile"]);
    assert!(notes("-genvall -launcher ssh -bind-to core:1 -print-all-exitcodes a").is_empty());
    assert!(notes("-q --mca btl self a").is_empty());
    assert_eq!(spec("-map-by socket -n 3 a -map-by b").sections[0].arguments, words("-map-by b"));
}

#[test]
fn placement_is_understood() {
    let placed = spec("--map-by ppr:2:socket:PE=3 --bind-to core --rank-by fill --cpu-set 0-3 --use-hwthread-cpus a");
    let mapping = placed.wish.mapping.unwrap();
    assert_eq!((mapping.ranks_per_part, placed.wish.cores), (Some(2), Some(3)));
    assert!(mapping.order.is_some() && placed.wish.threads_are_cores);
    assert_eq!(placed.wish.cpus, Some(vec![0, 1, 2, 3]));
    assert!(spec("-bynode a").dealing.round_robin && spec("--map-by node a").dealing.round_robin);
    assert_eq!(spec("-rr a").dealing.ranks_per_host, Some(1));
    assert_eq!(spec("--npersocket 2 a").wish.mapping.unwrap().ranks_per_part, Some(2));
    // The order of the options makes no difference.
    assert!(spec("--rank-by fill --map-by socket a").wish.mapping.unwrap().order.is_some());
    assert_eq!(spec("--rankmap 1,0 a").dealing.host_of_rank, [1, 0]);
    assert_eq!(notes("--map-by core:nooversubscribe a").len(), 1);
    for (line, what) in [
        ("--bind-to sofa a", "socket"),
        ("--map-by sofa a", "socket"),
        ("--cpu-set x a", "x"),
        ("--rank-by x a", "span"),
    ] {
        assert!(refused(line).contains(what), "{line}");
    }
}

#[test]
fn a_file_says_where_ranks_run() {
    let path = std::env::temp_dir().join(format!("rwmpi-rankfile-{}", std::process::id()));
    let spec_of = |text: &str, options: &str| {
        std::fs::write(&path, text).unwrap();
        spec(&format!("{options}--rankfile {} -n 3 a", path.display()))
    };
    let here = spec_of("rank 0=localhost slot=0\nrank 1=+n0 slot=0", "");
    assert!(here.hosts.is_empty() && here.wish.ranks.len() == 2);
    let there = spec_of("rank 0=+n1 slot=0\nrank 1=a.invalid slot=0\nrank 2=+n1 slot=0", "-hosts a.invalid,b.invalid ");
    assert_eq!(there.hosts.iter().map(|host| host.name.as_str()).collect::<Vec<_>>(), ["b.invalid", "a.invalid"]);
    assert_eq!(there.dealing.host_of_rank, [0, 1, 0]);
    std::fs::remove_file(&path).unwrap();
}

#[test]
fn streams_are_understood() {
    let streams = |line: &str| spec(line).streams;
    let all =
        streams("--timestamp-output -prepend-pattern %r: --merge-stderr-to-stdout -outfile-pattern o.%r --stdin 1,2 a");
    assert!(all.timestamps && all.merged);
    assert_eq!((all.prefix.as_deref(), all.files[0].as_deref()), (Some("%r:"), Some("o.%r")));
    assert_eq!(all.input, Readers::Ranks(vec![1, 2]));
    let folder = streams("--output-filename /tmp/d:nocopy a");
    assert_eq!((folder.directory, folder.only_files), (Some("/tmp/d".into()), true));
    let output = streams("--output tag,timestamp,dir=/tmp/d,merge a");
    assert!(output.prefix.is_some() && output.timestamps && output.merged && !output.only_files);
    assert_eq!(streams("--output file=f a").files[1].as_deref(), Some("f.%r.err"));
    assert_eq!(streams("-s all a").input, Readers::All);
    assert!(refused("--stdin some a").contains("all, none"));
}

#[test]
fn texts_that_are_asked_for() {
    for line in ["--help", "-h", "-np 2 --help"] {
        assert!(shown(line).contains("--np, -n, -c N"), "{line}");
    }
    assert!(shown("--help").lines().all(|line| line.len() <= 102), "{}", shown("--help"));
    assert!(shown("--help-settings").contains("RWMPI_PROTOCOL=auto, sr or nsr\n"));
    assert!(shown("--version").contains(env!("CARGO_PKG_VERSION")));
    assert!(["-info", "--info", "-n 2 -info a"].iter().all(|line| shown(line).contains("standard ABI")));
    assert!(shown("--doctor -hosts localhost").contains("localhost is this machine"));
    assert!(refused("--describe novels").contains("settings-page"));
}

#[test]
fn the_book_lists_every_option_and_setting() {
    for (page, text) in [
        ("options", include_str!("../../../docs/book/src/options.md")),
        ("settings", include_str!("../../../docs/book/src/settings.md")),
    ] {
        let made = shown(&format!("--describe {page}-page"));
        assert!(text == made, "docs/book/src/{page}.md is not what `mpiexec --describe {page}-page` says");
    }
}

/// The options of the launchers of MPICH 5.0, Intel MPI 2021.18 and Open MPI 5.0 as their own texts list them, and of
/// Open MPI also those that it takes for older versions' sake; with a value where they want one.
const OF_PEERS: [(&str, &str); 3] = [
    (
        "MPICH",
        "genv=A|1 genvlist=A genvnone genvall f=F hosts=a.invalid rankmap=0 wdir=/ env=A|1 envlist=A envnone envall n=1 np=1 \
         memory-alloc-kinds=x launcher=ssh launcher-exec=ssh enable-x disable-x rmk=user topolib=hwloc bind-to=core \
         map-by=core membind=x demux=poll disable-auto-cleanup disable-hostname-propagation errfile-pattern=e \
         gpus-per-proc=1 hybrid-hosts iface=lo localhost=a nameserver=a:1 order-nodes=ascending outfile-pattern=o pmi-port \
         ppn=1 prepend-pattern=p prepend-rank l print-all-exitcodes profile skip-launch-node usize=3 verbose v path=/bin \
         bootstrap=ssh bootstrap-exec=ssh nolocal machinefile=F gpu-subdevs-per-proc=1 enable-auto-cleanup",
    ),
    (
        "Intel",
        "genv=A|1 genvlist=A genvnone genvall genvexcl=A envexcl=A f=F machinefile=F machine=F hosts=a.invalid hostfile=F n=1 \
         np=1 launcher=ssh launcher-exec=ssh bootstrap=ssh bootstrap-exec=ssh bootstrap-exec-args=x enable-x disable-x rmk=slurm verbose v \
         print-all-exitcodes ppn=1 perhost=1 rr grr=1 prepend-rank l prepend-pattern=p outfile-pattern=o errfile-pattern=e \
         outfile=o errfile=e nameserver=a disable-auto-cleanup disable-hostname-propagation localhost=a usize=3 aps mps gdb gdba=1 \
         gdb-args=x gtool=x gtoolfile=x hosts-group=a iface=lo s=all silent-abort nolocal tune=F print-rank-map \
         prepend-timestamp prot cpu-bind=x binding=pin=yes wdir=/ gwdir=/ path=/bin gpath=/bin umask=022 ordered-output \
         check-mpi trace trace-collectives trace-imbalance tmpdir=/tmp branch-count=2 pmi-connect=lazy-cache pmi-aggregate \
         pmi-noaggregate prefork noconf use-app-topology=x ilp64",
    ),
    (
        "Open MPI",
        "c=1 n=1 np=1 N=1 npernode=1 pernode npersocket=1 x=A=1 wdir=/ wd=/ path=/bin H=a.invalid host=a.invalid hostfile=F \
         machinefile=F default-hostfile=F add-host=a add-hostfile=F nolocal map-by=core rank-by=slot bind-to=core \
         report-bindings rankfile=R rf=R cpu-set=0 cpu-list=0 cpus-per-proc=1 cpus-per-rank=1 use-hwthread-cpus oversubscribe \
         nooversubscribe bynode byslot bycore bysocket bind-to-core bind-to-socket bind-to-none display=map display-map \
         display-devel-map display-allocation display-topo do-not-launch runtime-options=donotlaunch output=tag \
         output-filename=d tag-output timestamp-output merge-stderr-to-stdout xml stdin=0 stream-buffering=1 xterm=0 \
         timeout=9 spawn-timeout=9 report-state-on-timeout get-stack-traces quiet q verbose v debug mca=a|b gmca=a|b omca=a|b \
         prtemca=a|b pmixmca=a|b tune=F am=F prefix=/ noprefix personality=ompi allow-run-as-root preload-binary \
         preload-files=F set-cwd-to-session-dir show-progress debug-daemons debug-devel leave-session-attached \
         launch-agent=ssh forward-signals=1 enable-recovery disable-recovery continuous max-restarts=1 with-ft=ulfm \
         initial-errhandler=x gpu-support=0 stop-on-exec stop-in-init stop-in-app ompi-server=x dvm singleton=x \
         pset=x report-pid=x report-uri=x keepalive=1 exec-agent=x parsable parseable set-env=A=1 unset-env=A append-env=A[:]|b append-envar=A[:]|b \
         prepend-env=A[:]|b prepend-envar=A[:]|b pmix-prefix=/ app-prefix=/ app-pmix-prefix=/ no-app-prefix set-sid test-suicide \
         max-vm-size=1 report-child-jobs-separately do-not-resolve ppr=1:core display-devel-allocation output-directory=d abort-on-non-zero-status soft=1 arch=x",
    ),
];

#[test]
fn every_option_of_the_three_peers_is_accepted() {
    let folder = std::env::temp_dir().join(format!("rwmpi-peers-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    std::fs::write(folder.join("F"), "a.invalid\n").unwrap();
    std::fs::write(folder.join("R"), "rank 0=localhost slot=0\n").unwrap();
    for (peer, options) in OF_PEERS {
        for option in options.split_whitespace() {
            let (name, value) = option.split_once('=').map_or((option, None), |(name, value)| (name, Some(value)));
            let values = value.into_iter().flat_map(|value| value.split('|'));
            let values = values.map(|value| match value {
                "F" | "R" => folder.join(value).into_os_string(),
                value => value.into(),
            });
            let values: Vec<OsString> = values.collect();
            for dashes in ["-", "--"] {
                let line = [vec![format!("{dashes}{name}").into()], values.clone(), vec!["a".into()]].concat();
                let request = parsed(line).unwrap_or_else(|error| panic!("{peer}'s {option}: {error}"));
                assert_eq!(request.spec.sections[0].program, "a", "{peer}'s {option}");
                let known = words::find(name).unwrap();
                assert!(known.peers.contains(&peer[..1]), "{peer} has {name}, too");
            }
        }
    }
    std::fs::remove_dir_all(&folder).unwrap();
}

#[test]
fn an_environment_can_be_kept_away() {
    let spec = spec("-envnone a : -envlist PATH,NO_SUCH_VARIABLE b : c");
    let clean: Vec<bool> = spec.sections.iter().map(|section| section.clean).collect();
    assert_eq!(clean, [true, true, false]);
    assert_eq!(spec.sections[1].environment, [("PATH".into(), env::var_os("PATH").unwrap())]);
    let spec = self::spec("-genvlist PATH a : b");
    assert!(spec.sections.iter().all(|section| section.clean) && spec.environment.len() == 1);
    assert!(self::spec("a : -genvnone b").sections.iter().all(|section| section.clean));
    let without = self::spec("-envexcl A,B a : -genvexcl C b");
    assert_eq!(without.sections[0].removed, words("A B C"));
    assert_eq!(without.sections[1].removed, words("C"));
    let beginning = self::spec("-unset-env PAT* a").sections[0].removed.clone();
    assert!(beginning.contains(&"PATH".into()) && beginning.iter().all(|name| name.as_bytes().starts_with(b"PAT")));
}

#[test]
fn values_are_put_before_and_behind_those_of_the_environment() {
    let path = env::var("PATH").unwrap();
    let set = |line: &str| spec(line).sections[0].environment.clone();
    assert_eq!(set("--append-envar PATH[:] /b a"), [("PATH".into(), format!("{path}:/b").into())]);
    assert_eq!(set("--prepend-env PATH[;] /b a"), [("PATH".into(), format!("/b;{path}").into())]);
    assert_eq!(set("--prepend-env NO_SUCH_VARIABLE[:] /b a"), [("NO_SUCH_VARIABLE".into(), "/b".into())]);
    assert!(refused("--append-env PATH /b a").contains("PATH[:]"));
}

#[test]
fn jobs_go_on_when_ranks_die_if_any_launcher_would_let_them() {
    for option in ["--keep-going", "-disable-auto-cleanup", "--enable-recovery", "--with-ft ulfm"] {
        assert!(spec(&format!("{option} a")).keeps_going, "{option}");
    }
    for line in ["a", "-enable-auto-cleanup a", "--disable-recovery a", "--with-ft none a"] {
        assert!(!spec(line).keeps_going, "{line}");
    }
    assert!(refused("--with-ft perhaps a").contains("ulfm"));
}

#[test]
fn an_agent_is_a_command_as_a_shell_splits_it() {
    let agent = |text: &str| parsed(vec!["--launch-agent".into(), text.into(), "a".into()]);
    let split = |text: &str| agent(text).unwrap().spec.launch_agent;
    assert_eq!(split("ip netns exec"), words("ip netns exec"));
    assert_eq!(split(r#"'/opt/my agent' -o "a b" c\ d"#), ["/opt/my agent", "-o", "a b", "c d"]);
    for nonsense in ["'rsh", " ", "rsh \\"] {
        assert!(agent(nonsense).unwrap_err().contains("--launch-agent"), "{nonsense}");
    }
    assert_eq!(spec("-launcher rsh a").launch_agent, words("rsh"));
    assert_eq!(spec("-launcher-exec rsh a").launch_agent, words("rsh"));
}

#[test]
fn what_is_not_understood_is_refused_with_a_suggestion() {
    assert!(refused("--protocl sr a").contains("--protocol"));
    assert!(refused("-timout 3 a").contains("--timeout"));
    assert!(refused("--protocol fast a").contains("nsr"));
    assert!(refused("--transport pigeon a").contains("auto or tcp"));
    assert!(refused("-n four a").contains("four"));
    assert!(refused("-n -1 a").contains("-1"));
    assert!(refused("--timeout 0 a").contains("more than 0"));
    assert!(refused("--timeout soon a").contains("seconds"));
    assert!(refused("-env A").contains("env"));
    for far in ["--frobnicate a", "-zz a", "--foo-bar-baz a"] {
        assert!(!refused(far).contains("perhaps"), "{far}");
    }
    assert!(refused("-n 2").contains("no program"));
    assert!(refused("a :").contains("no program"));
    assert!(refused(": a").contains("no program"));
}

#[test]
fn profiles_and_traces_have_files() {
    assert_eq!((spec("a").profile, spec("a").trace), (None, None));
    assert_eq!(spec("--profile a").profile, Some("rwmpi-profile.html".into()));
    assert_eq!(spec("-profile=p.html -n 2 a").profile, Some("p.html".into()));
    assert_eq!(spec("--trace t.json a").trace, Some("t.json".into()));
    assert_eq!(spec("--trace=t.json a").trace, Some("t.json".into()));
    // As others' launchers have it, without a file.
    for line in
        ["-trace -n 2 a", "-n 2 -trace /bin/sh x", "-trace a", "-trace sh x", "--trace a : b", "-trace -- t.json a"]
    {
        assert_eq!(spec(line).trace, Some("rwmpi-trace.json".into()), "{line}");
    }
    assert_eq!(spec("-trace sh x").sections[0].program, "sh");
    assert!(refused("--trace=/bin/sh a").contains("a file to write to"));
    assert!(refused("--profile=/no/such/p.html a").contains("no such folder"));
    assert!(shown("--help").contains("--profile[=FILE]"));
}
