import { load } from '../base/lazy.ts';

type Undici = typeof import('undici');
export type UndiciParts = Pick<Undici, 'Pool' | 'ProxyAgent'>;

/**
 * Loads undici without its fetch, caches, mocks and web sockets, which saves 3 MB and a hundred files in each process.
 * The files are internal, so the function loads all of undici if a file is missing. File names are literals, because
 * bundlers follow only literals.
 */
export function undiciParts(): UndiciParts {
  try {
    const dispatcher = load('undici/lib/dispatcher/dispatcher.js') as Undici['Dispatcher'];
    Object.assign(dispatcher.prototype, load('undici/lib/api/index.js'));
    return {
      Pool: load('undici/lib/dispatcher/pool.js') as Undici['Pool'],
      get ProxyAgent() {
        return (load('undici') as Undici).ProxyAgent;
      },
    };
  } catch {
    return load('undici') as Undici; // The layout of undici has changed, so all of undici is loaded.
  }
}
