import { load } from '../base/lazy.ts';

type Undici = typeof import('undici');
/** What of undici a transport is made of. */
export type UndiciParts = Pick<Undici, 'Pool' | 'ProxyAgent'>;

/**
 * undici without its fetch, caches, mocks and web sockets, which its entry loads for everybody: 3 MB and a hundred files less of each process.
 * The files are its own, not promised to anybody: where they lie otherwise, the whole is loaded. Named in full, for the bundler follows no other names.
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
    return load('undici') as Undici; // laid out in another way
  }
}
