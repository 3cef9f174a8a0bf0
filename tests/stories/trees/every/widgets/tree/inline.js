export const inline = "inline";
