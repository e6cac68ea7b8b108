//! Measuring: subjects take turns round by round, so that a busy machine slows all of them alike, and the median round
//! of each counts. Processes are measured by what they say of themselves at their end.

use std::process::Command;
use std::time::Instant;

use cpu_time::ProcessTime;

/// Something that is measured: a round returns its figure.
pub struct Subject<'a> {
    pub name: &'static str,
    pub run: Box<dyn FnMut() -> f64 + 'a>,
    pub rounds: Vec<f64>,
}

impl<'a> Subject<'a> {
    pub fn new(name: &'static str, run: impl FnMut() -> f64 + 'a) -> Self {
        Self {
            name,
            run: Box::new(run),
            rounds: Vec::new(),
        }
    }

    /// The median of its rounds.
    pub fn median(&self) -> f64 {
        median(&self.rounds)
    }
}

/// Runs so many rounds of all.
pub fn rounds(subjects: &mut [Subject<'_>], count: usize) {
    for _ in 0..count {
        for subject in &mut *subjects {
            let figure = (subject.run)();
            subject.rounds.push(figure);
        }
    }
}

/// The median; of an even number the higher one in the middle.
pub fn median(figures: &[f64]) -> f64 {
    let mut sorted = figures.to_vec();
    sorted.sort_by(f64::total_cmp);
    sorted[sorted.len() / 2]
}

/// What a process took.
#[derive(Clone, Copy, Debug)]
pub struct Spent {
    /// From its start to its end.
    pub wall_s: f64,
    /// On the CPU, user and system.
    pub cpu_s: f64,
    /// Largest resident memory.
    pub peak_mb: f64,
}

/// Runs this program with other arguments, and returns what it took and printed.
pub fn process(arguments: &[&str]) -> (Spent, String) {
    let program = std::env::current_exe().expect("its own path");
    let start = Instant::now();
    let output = Command::new(program)
        .args(arguments)
        .stderr(std::process::Stdio::inherit())
        .output()
        .expect("started");
    let wall_s = start.elapsed().as_secs_f64();
    assert!(output.status.success(), "{arguments:?} failed");
    let text = String::from_utf8(output.stdout).expect("text");
    let (rest, last) = text
        .trim_end()
        .rsplit_once('\n')
        .unwrap_or(("", text.trim_end()));
    let mut numbers = last
        .split(' ')
        .map(|word| word.parse::<f64>().expect("a number"));
    let mut next = || numbers.next().expect("two numbers");
    let spent = Spent {
        wall_s,
        cpu_s: next(),
        peak_mb: next(),
    };
    (spent, rest.to_owned())
}

/// Prints what was aimed at: a name, the figure, the most it should be, the unit.
pub fn aims(aims: &[(&str, f64, f64, &str)]) {
    println!("\n| aim | measured | at most | |\n|---|---|---|---|");
    for (name, figure, most, unit) in aims {
        let reached = if figure <= most {
            "reached"
        } else {
            "**not reached**"
        };
        println!("| {name} | {figure:.1} {unit} | {most:.1} {unit} | {reached} |");
    }
}

/// The last line of a measured process: CPU seconds since its start, and its peak memory.
pub fn conclude() {
    let cpu = ProcessTime::now().as_duration().as_secs_f64();
    println!("{cpu} {}", peak_mb());
}

/// Largest resident memory of this process so far, in megabytes, from /proc.
pub fn peak_mb() -> f64 {
    let status = std::fs::read_to_string("/proc/self/status").expect("/proc");
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let kib: f64 = line
        .and_then(|line| line.trim().strip_suffix(" kB"))
        .and_then(|kib| kib.trim().parse().ok())
        .expect("VmHWM");
    kib * 1_024.0 / 1e6
}
