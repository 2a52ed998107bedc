// As lines.py.
use std::{collections::HashMap, env, fs, io::{BufRead, BufReader}};

fn main() {
    let dir = env::args().nth(1).unwrap();
    for entry in fs::read_dir(dir).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().map_or(true, |e| e != "text") {
            continue;
        }
        let known = fs::read_to_string(path.with_extension("lines")).unwrap();
        let at: HashMap<&str, usize> = known.split('\n').enumerate().map(|(i, l)| (l, i + 1)).collect();
        let show = |way: &str, lines: Vec<String>| {
            let found: Vec<String> = lines.iter().filter(|l| !l.is_empty()).map(|l| at.get(l.as_str()).unwrap_or(&0).to_string()).collect();
            println!("{}\t{}\t{}", path.file_stem().unwrap().to_str().unwrap(), way, found.join(","));
        };
        let text = fs::read_to_string(&path).unwrap();
        show("str::lines", text.lines().map(String::from).collect());
        show("str::split_terminator", text.split_terminator('\n').map(String::from).collect());
        show("BufRead::lines", BufReader::new(fs::File::open(&path).unwrap()).lines().map(Result::unwrap).collect());
        show("BufRead::split", BufReader::new(text.as_bytes()).split(b'\n').map(|l| String::from_utf8(l.unwrap()).unwrap()).collect());
    }
}
