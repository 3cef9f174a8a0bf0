import { both } from "../one.js";
postMessage(both());
