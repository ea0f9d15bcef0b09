import test, { before, after } from "node:test";
import { launch } from "./support/chromium.mjs";
