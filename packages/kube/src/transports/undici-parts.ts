import { load } from '../base/lazy.ts';

type Undici = typeof import('undici');
export type UndiciParts = Pick<Undici, 'Pool' | 'ProxyAgent'>;

/**
 * Loads only some internal files of undici. The omission of fetch, caches, mocks and web sockets saves 3 MB of memory.
 * File names are literals, because bundlers cannot resolve computed names.
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
    return load('undici') as Undici; // After a change of the internal files, the process loads the whole library.
  }
}
