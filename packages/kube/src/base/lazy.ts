import { createRequire } from 'node:module';

/** Loads a CommonJS module when it is first used. undici, prom-client and pino need 100 ms and 30 MB each. */
export const load: (name: string) => unknown = createRequire(import.meta.url);
