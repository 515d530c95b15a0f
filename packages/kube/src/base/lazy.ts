import { createRequire } from 'node:module';

/**
 * Loads a CommonJS module at its first use. Each of the libraries undici, prom-client and pino needs 100 ms and 30 MB.
 */
export const load: (name: string) => unknown = createRequire(import.meta.url);
