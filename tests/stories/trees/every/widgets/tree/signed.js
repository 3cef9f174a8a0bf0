window.signed = true;
