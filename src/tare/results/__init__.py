"""What commands and experiments found, as data: words are put on by `tare.render`."""
