// Profile shows the times of a public profile in the reader's language and zone.
import { keepTimes } from "./times.js";

keepTimes();
