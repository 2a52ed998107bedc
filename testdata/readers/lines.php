<?php // As lines.py.
foreach (glob($argv[1] . '/*.text') as $path) {
    $at = [];
    foreach (explode("\n", rtrim(file_get_contents(substr($path, 0, -4) . 'lines'), "\n")) as $i => $line) $at[$line] = $i + 1;
    $show = function ($way, $lines) use ($path, $at) {
        $lines = array_filter(array_map(fn($l) => rtrim($l, "\r\n"), $lines), fn($l) => $l !== '');
        echo basename($path, '.text'), "\t$way\t", implode(',', array_map(fn($l) => $at[$l] ?? 0, $lines)), "\n";
    };
    $text = file_get_contents($path);
    $show('file', file($path));
    $f = fopen($path, 'r');
    $lines = [];
    while (($line = fgets($f)) !== false) $lines[] = $line;
    $show('fgets', $lines);
    $show('SplFileObject', iterator_to_array(new SplFileObject($path)));
    $show('explode', explode("\n", $text));
    $show('preg_split \R', preg_split('/\R/u', $text));
    $show('preg_split \v', preg_split('/\v/u', $text));
    preg_match_all('/^.*$/mu', $text, $m);
    $show('preg_match_all (?m)', $m[0]);
    $show('bytes: preg_split \R', preg_split('/\R/', $text));
}
