import { two } from "./two.js";
export const name = "one";
export function both() {
  return `${name} and ${two()}`;
}
