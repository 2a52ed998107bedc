<?php // Prints each content of the JSON line on standard input in base64.
ini_set('memory_limit', '1G');
foreach (json_decode(stream_get_contents(STDIN), false, 512, JSON_THROW_ON_ERROR)->items as $item) echo base64_encode($item->content), "\n";
