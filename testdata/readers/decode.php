<?php // Prints each content of the JSON lines on standard input in base64.
ini_set('memory_limit', '1G');
while (($line = fgets(STDIN)) !== false)
    foreach (json_decode($line, false, 512, JSON_THROW_ON_ERROR)->items as $item) echo base64_encode($item->content), "\n";
