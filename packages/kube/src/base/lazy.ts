import { createRequire } from 'node:module';

/**
 * Loads a CommonJS module at its first use and not with the package: undici, prom-client and pino cost 100 ms and 30 MB
 * each, and tests, simulations and libraries do without them.
 */
export const load: (name: string) => unknown = createRequire(import.meta.url);
