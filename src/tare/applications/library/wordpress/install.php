<?php
// Installs WordPress as its own page does, and writes the posts that are asked for.
$_SERVER += ['HTTP_HOST' => 'localhost', 'SERVER_PROTOCOL' => 'HTTP/1.1', 'REQUEST_METHOD' => 'GET'];
const WP_INSTALLING = true;
require '/data/site/wp-load.php';
require_once ABSPATH . 'wp-admin/includes/upgrade.php';

// The address of whom it installs for would be sent a letter.
function wp_new_blog_notification($title, $address, $user, $password) {}

wp_install('tare', 'admin', 'admin@example.org', false, '', 'not used');
update_option('timezone_string', 'UTC');
$words = explode(' ', 'time load server request answer page user queue memory cache worker process');
for ($number = 1; $number <= 5; $number++) {
    $text = '';
    for ($part = 0; $part < 5; $part++) {
        $sentence = [];
        for ($word = 0; $word < 60; $word++) {
            $sentence[] = $words[($word * ($part + 3) + $number) % count($words)];
        }
        $text .= '<!-- wp:paragraph --><p>' . ucfirst(implode(' ', $sentence)) . ".</p><!-- /wp:paragraph -->\n";
    }
    $post = wp_insert_post([
        'import_id' => 100 + $number,
        'post_title' => "Post $number",
        'post_content' => $text,
        'post_status' => 'publish',
        'post_author' => 1,
        'post_date' => "2024-01-0$number 12:00:00",
    ], true);
    if ($post !== 100 + $number) {
        fwrite(STDERR, "post $number was not written\n");
        exit(1);
    }
}
echo 'WordPress ', get_bloginfo('version'), ' with theme ', get_template(), "\n";
