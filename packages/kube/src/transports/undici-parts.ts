import { load } from '../base/lazy.ts';

type Undici = typeof import('undici');
/** The used parts of undici. */
export type UndiciParts = Pick<Undici, 'Pool' | 'ProxyAgent'>;

/**
 * undici without its fetch, caches, mocks and web sockets, which saves 3 MB and a hundred files in each process.
 * These files are internal: if they do not exist, all of undici is loaded. Their names are literals, because the bundler only follows literals.
 */
export function undiciParts(): UndiciParts {
  try {
    const dispatcher = load('undici/lib/dispatcher/dispatcher.js') as Undici['Dispatcher'];
    // As undici's entry does.
    Object.assign(dispatcher.prototype, load('undici/lib/api/index.js'));
    return {
      Pool: load('undici/lib/dispatcher/pool.js') as Undici['Pool'],
      get ProxyAgent() {
        return (load('undici') as Undici).ProxyAgent;
      },
    };
  } catch {
    return load('undici') as Undici; // The layout of undici has changed.
  }
}
