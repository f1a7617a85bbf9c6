//! How a job looks in the terminal: a line above, the ranks, what they write, and the keys.

use crate::snapshot::{Row, Snapshot};
use ratatui::Frame;
use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::style::{Color, Modifier, Style};
use ratatui::text::Line;
use ratatui::widgets::{Block, Cell, Paragraph, Table, Wrap};

/// Rows that the output has where there is room.
const OUTPUT_ROWS: u16 = 8;
/// With fewer rows than this the output has none.
const LOW: u16 = 14;

/// From this width on the keys are told in whole words.
const WIDE: u16 = 100;

/// What is to be seen, by the user's choice.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct View {
    /// Whether it is shown who waits for whom instead of the ranks.
    pub graph: bool,
    /// The first line that is shown.
    pub top: usize,
    /// Whether a second press of the key sends SIGQUIT.
    pub confirms: bool,
}

/// Draws all of it.
pub fn draw(frame: &mut Frame<'_>, snapshot: &Snapshot, view: &View) {
    let output_rows = if frame.area().height < LOW { 0 } else { OUTPUT_ROWS };
    let [head, body, output, keys] = Layout::vertical([
        Constraint::Length(1),
        Constraint::Min(3),
        Constraint::Length(output_rows),
        Constraint::Length(1),
    ])
    .areas(frame.area());
    frame.render_widget(Line::from(headline(snapshot)).style(Style::new().add_modifier(Modifier::BOLD)), head);
    if view.graph {
        graph(frame, body, snapshot, view);
    } else {
        ranks(frame, body, snapshot, view);
    }
    written(frame, output, snapshot);
    frame.render_widget(Line::from(footline(view, keys.width)).style(Style::new().fg(Color::DarkGray)), keys);
}

fn headline(snapshot: &Snapshot) -> String {
    let waiting = snapshot.rows.iter().filter(|row| row.state == "waits").count();
    let time = format!("{:.0} s", snapshot.seconds);
    format!("{} · {time} · {} ranks, {waiting} of them wait", snapshot.title, snapshot.rows.len())
}

fn footline(view: &View, width: u16) -> &'static str {
    match view {
        View { confirms: true, .. } => {
            "\\ once more sends SIGQUIT to all ranks, which ends most programs; any other key: no"
        }
        View { graph: true, .. } if width < WIDE => "w ranks · ↑↓ · d closes the table · \\ SIGQUIT · q ends the job",
        _ if width < WIDE => "w waits · ↑↓ · d closes the table · \\ SIGQUIT · q ends the job",
        View { graph: true, .. } => {
            "w ranks · ↑↓ more · d leaves the table, the job goes on · \\ SIGQUIT · q ends the job"
        }
        _ => "w who waits for whom · ↑↓ more · d leaves the table, the job goes on · \\ SIGQUIT · q ends the job",
    }
}

/// A column of the ranks' table.
struct Column {
    title: &'static str,
    room: Constraint,
    /// The terminal's width from which on it is shown: what matters most has room in each.
    from: u16,
    cell: fn(&Row) -> String,
}

const fn column(title: &'static str, room: Constraint, from: u16, cell: fn(&Row) -> String) -> Column {
    Column { title, room, from, cell }
}

fn per_cent(share: Option<f64>) -> String {
    share.map_or("-".to_owned(), |share| format!("{:.0} %", share * 100.0))
}

/// Where all ranks are on one host, that has no column.
const HOST: &str = "host";
const COLUMNS: [Column; 12] = [
    column("rank", Constraint::Length(5), 0, |row| row.rank.to_string()),
    column(HOST, Constraint::Length(10), 0, |row| row.host.clone()),
    column("state", Constraint::Length(6), 0, |row| row.state.clone()),
    column("for", Constraint::Length(7), 0, |row| {
        row.waited.map_or(String::new(), |seconds| format!("{seconds:.1} s"))
    }),
    column("call", Constraint::Fill(3), 0, |row| row.call.clone()),
    column("waits for", Constraint::Fill(1), 0, |row| row.waits_for.clone()),
    column("holds up", Constraint::Length(8), 0, |row| {
        if row.holds_up == 0 { String::new() } else { row.holds_up.to_string() }
    }),
    column("in MPI", Constraint::Length(6), 90, |row| per_cent(row.inside)),
    column("waiting", Constraint::Length(7), 70, |row| per_cent(row.waiting)),
    column("data", Constraint::Length(10), 110, |row| row.rate.map_or("-".to_owned(), |rate| bytes(rate) + "/s")),
    column("memory", Constraint::Length(8), 100, |row| row.memory.map_or("-".to_owned(), bytes)),
    column("core", Constraint::Length(4), 90, |row| row.core.clone()),
];

fn ranks(frame: &mut Frame<'_>, area: Rect, snapshot: &Snapshot, view: &View) {
    let several_hosts = snapshot.rows.iter().any(|row| row.host != snapshot.rows[0].host);
    let is_shown = |column: &&Column| area.width >= column.from && (several_hosts || column.title != HOST);
    let columns: Vec<&Column> = COLUMNS.iter().filter(is_shown).collect();
    let rows = snapshot.rows.iter().skip(view.top.min(snapshot.rows.len().saturating_sub(1)));
    let rows = rows.map(|row| of_rank(row, &columns));
    let titles = columns.iter().map(|column| column.title);
    let header = ratatui::widgets::Row::new(titles).style(Style::new().add_modifier(Modifier::UNDERLINED));
    frame.render_widget(Table::new(rows, columns.iter().map(|column| column.room)).header(header), area);
}

fn of_rank(row: &Row, columns: &[&Column]) -> ratatui::widgets::Row<'static> {
    let color = match (row.holds_up, row.waited) {
        (1.., None) => Color::Red,
        (_, Some(_)) => Color::Yellow,
        _ => Color::Reset,
    };
    let cells = columns.iter().map(|column| Cell::from((column.cell)(row)));
    ratatui::widgets::Row::new(cells).style(Style::new().fg(color))
}

fn graph(frame: &mut Frame<'_>, area: Rect, snapshot: &Snapshot, view: &View) {
    let lines: Vec<Line<'_>> = match &snapshot.graph[..] {
        [] => vec![Line::from("nobody has waited for long")],
        graph => graph.iter().skip(view.top.min(graph.len() - 1)).map(|line| Line::from(line.as_str())).collect(),
    };
    let block = Block::bordered().title("who waits for whom");
    frame.render_widget(Paragraph::new(lines).wrap(Wrap { trim: false }).block(block), area);
}

/// The last lines that the ranks have written.
fn written(frame: &mut Frame<'_>, area: Rect, snapshot: &Snapshot) {
    let room = usize::from(area.height.saturating_sub(2));
    let output = &snapshot.output;
    let last = output.iter().skip(output.len().saturating_sub(room)).map(|line| Line::from(line.as_str()));
    let block = Block::bordered().title("output (all of it is written when the table closes)");
    frame.render_widget(Paragraph::new(last.collect::<Vec<_>>()).block(block), area);
}

/// A number of bytes in few letters.
fn bytes(number: f64) -> String {
    let mut number = number;
    for unit in ["B", "KiB", "MiB", "GiB"] {
        if number < 1000.0 {
            let decimals = if number < 10.0 && unit != "B" { 1 } else { 0 };
            return format!("{number:.decimals$} {unit}");
        }
        number /= 1024.0;
    }
    format!("{number:.1} TiB")
}

#[cfg(test)]
mod tests {
    use super::*;
    use ratatui::Terminal;
    use ratatui::backend::TestBackend;

    fn snapshot() -> Snapshot {
        let busy = Row {
            rank: 1,
            host: "atlas".into(),
            state: "runs".into(),
            call: "send to rank 0, tag 7".into(),
            holds_up: 2,
            inside: Some(0.5),
            waiting: Some(0.25),
            rate: Some(5e9),
            memory: Some(64e6),
            core: "3".into(),
            ..Row::default()
        };
        let waiting = Row {
            rank: 0,
            state: "waits".into(),
            waited: Some(2.5),
            waits_for: "rank 1".into(),
            holds_up: 0,
            rate: None,
            ..busy.clone()
        };
        Snapshot {
            seconds: 12.0,
            title: "./heat".into(),
            rows: vec![busy, waiting],
            graph: vec!["rank 0 waits for rank 1 (receive, tag 7)".into()],
            output: ["step 1", "step 2"].map(str::to_owned).into(),
        }
    }

    fn screen(width: u16, height: u16, snapshot: &Snapshot, view: &View) -> Vec<String> {
        let mut terminal = Terminal::new(TestBackend::new(width, height)).unwrap();
        terminal.draw(|frame| draw(frame, snapshot, view)).unwrap();
        let buffer = terminal.backend().buffer();
        let row = |y| (0..width).map(|x| buffer[(x, y)].symbol()).collect::<String>().trim_end().to_owned();
        (0..height).map(row).collect()
    }

    #[test]
    fn ranks_and_output_are_seen() {
        let screen = screen(140, 20, &snapshot(), &View::default());
        assert_eq!(screen[0], "./heat · 12 s · 2 ranks, 1 of them wait");
        assert!(screen[1].starts_with("rank  state  for     call"), "{}", screen[1]);
        let busy = &screen[2];
        for words in ["1     runs", "send to rank 0, tag 7", " 2 ", "50 %", "25 %", "4.7 GiB/s", "61 MiB", " 3"] {
            assert!(busy.contains(words), "no {words:?} in {busy}");
        }
        assert!(screen[3].contains("waits  2.5 s") && screen[3].contains("rank 1"), "{}", screen[3]);
        assert!(screen.iter().any(|line| line.contains("step 2")), "{screen:#?}");
        assert!(screen[19].contains("w who waits for whom"), "{}", screen[19]);
    }

    #[test]
    fn a_terminal_of_the_usual_width_shows_calls_and_keys() {
        let screen_text = screen(80, 24, &snapshot(), &View::default()).join("\n");
        for words in ["send to rank 0, tag 7", "rank 1", "waits  2.5 s", "q ends the job"] {
            assert!(screen_text.contains(words), "no {words:?} in {screen_text}");
        }
    }

    #[test]
    fn hosts_are_told_where_there_are_several() {
        let mut snapshot = snapshot();
        assert!(!screen(140, 20, &snapshot, &View::default()).join("\n").contains("atlas"));
        snapshot.rows[1].host = "helios".into();
        let screen_text = screen(140, 20, &snapshot, &View::default()).join("\n");
        assert!(screen_text.contains("atlas") && screen_text.contains("helios"), "{screen_text}");
    }

    #[test]
    fn who_waits_for_whom_is_sentences() {
        let view = View { graph: true, ..View::default() };
        let screen_text = screen(80, 20, &snapshot(), &view).join("\n");
        assert!(screen_text.contains("│rank 0 waits for rank 1 (receive, tag 7)"), "{screen_text}");
        let nobody = Snapshot { graph: Vec::new(), ..snapshot() };
        assert!(screen(80, 20, &nobody, &view).join("\n").contains("nobody has waited for long"));
    }

    #[test]
    fn small_terminals_show_what_fits() {
        for (width, height) in [(20, 5), (1, 1), (300, 3)] {
            screen(width, height, &snapshot(), &View { top: 77, ..View::default() });
        }
        let low = screen(100, 8, &snapshot(), &View::default()).join("\n");
        assert!(low.contains("2.5 s") && !low.contains("step 2"), "{low}");
    }

    #[test]
    fn a_doubtful_key_is_told() {
        let doubtful = View { confirms: true, ..View::default() };
        assert!(screen(100, 20, &snapshot(), &doubtful).join("\n").contains("once more sends SIGQUIT"));
    }

    #[test]
    fn numbers_are_short() {
        assert_eq!([0.0, 999.0, 1500.0, 64e6, 5e12].map(bytes), ["0 B", "999 B", "1.5 KiB", "61 MiB", "4.5 TiB"]);
    }
}
