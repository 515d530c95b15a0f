import { load } from '../base/lazy.ts';

type Undici = typeof import('undici');
export type UndiciParts = Pick<Undici, 'Pool' | 'ProxyAgent'>;

/**
 * Loads undici without fetch, caches, mocks and web sockets, which saves 3 MB of memory and a hundred files. The loaded
 * files are internal to undici, so if a file is missing, all of undici is loaded. File names are literals, because
 * bundlers do not follow computed names.
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
    return load('undici') as Undici; // The file layout of undici has changed, so all of undici is loaded.
  }
}
