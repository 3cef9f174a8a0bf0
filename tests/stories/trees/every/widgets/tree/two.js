import { name } from "./one.js";
export function two() {
  return `two of ${name}`;
}
